"""Whatever the user's code catches, times out or cancels: what leaves is recorded, and nothing is called done that is not."""

import json

import pytest

from counterfoil.model.operation import OperationStatus
from counterfoil.model.run import RunState
from tests.crash.stage import Stage

CRASHES = [None, "operation.in_flight", "operation.first_byte", "operation.replied", "before:operation.classified"]


def end(stage: Stage, workflow: str, crash: str | None) -> str:
    """The run's result, after a crash if one is asked for. What it claims must be so."""
    if crash is not None:
        stage.dies(crash, workflow=workflow)
    stage.lives(workflow=workflow)
    stage.check_record()
    run = stage.run(workflow)
    assert run.state is RunState.COMPLETED, (run.state, run.reason, run.sentence)
    return str(json.loads(run.result or ""))


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("workflow", ["swallowing", "threaded"])
def test_the_end_of_an_execution_cannot_be_swallowed(workflow: str, crash: str | None, stage: Stage) -> None:
    result = end(stage, workflow, crash)
    assert [record["id"] for record in stage.records("key")] == [result]
    assert not (stage.folder / "while it ends").exists(), "a closed execution runs nothing more"


def test_a_program_that_does_not_understand_its_run_sends_nothing(stage: Stage) -> None:
    stage.dies("step.ended#2", workflow="diverging")
    (stage.folder / "changed").touch()
    stage.start("works", workflow="diverging").wait_said("parked")
    assert stage.run("diverging").reason == "code_changed"
    assert stage.writes("key") == [] and not stage.operations()
    stage.check_record()


@pytest.mark.parametrize("crash", [None, "operation.in_flight", "operation.first_byte", "before:operation.classified"])
def test_success_cannot_be_invented(crash: str | None, stage: Stage) -> None:
    """The reply is lost, the function claims success: a doubt, which a person resolves by what the receiver has."""
    result = end(stage, "inventing", crash)
    assert [record["id"] for record in stage.records("none")] == [result]


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("workflow", ["hasty", "cancelling"])
def test_what_is_under_way_is_not_cancelled(workflow: str, crash: str | None, stage: Stage) -> None:
    """The caller is gone; the write has its record, its answer and its receipt, and the run does not end before it."""
    result = end(stage, workflow, crash)
    (record,) = stage.records("key")
    operation = stage.operations()["note"]
    assert operation.status is OperationStatus.SUCCEEDED and record["reference"] == operation.operation_id
    assert result in (record["id"], "too late for me", "cancelled")
    if crash is None:
        assert result != record["id"], "the caller was detached"
