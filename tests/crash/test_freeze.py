"""A worker that is frozen at the wire, a second one that takes over, and the first one thawed: never a second record.

What a sender frozen between its last look at the clock and the system call can do is the receiver's contract alone
(docs: limits). Here the freeze lies before that look, and after the answer.
"""

import json
from datetime import timedelta
from itertools import takewhile
from typing import Any

import pytest

from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationStatus
from counterfoil.model.run import RunState
from counterfoil.testing.children import Child
from tests.crash.stage import Stage

LEASE_S = 3
# request_timeout of the contracts, and what the engine adds to it for an attempt's deadline
ATTEMPT_S = 10
SHORT = {"COUNTERFOIL_LEASE_SECONDS": str(LEASE_S)}
OPERATIONS = {"single": "note", "single_lookup": "post", "single_none": "mail"}
RECEIVERS = {"single": "key", "single_lookup": "lookup", "single_none": "none"}
SENDS = ["operation.in_flight", "marker.flushed", "operation.first_byte", "operation.replied"]


def frozen(stage: Stage, workflow: str, at: str) -> Child:
    """A worker that stands still at a boundary of sending."""
    if at == "marker.flushed":
        at += "#2"  # the first flush is that of opening
    child = stage.start("works", workflow=workflow, freeze_at=at, environ=SHORT)
    child.wait_stopped()
    assert child.process_state() == "T"
    return child


def taken_over(stage: Stage, workflow: str, first: Child) -> Child:
    """A second worker that has claimed the run: the journal says so, under a higher fence."""
    second = stage.start("works", workflow=workflow, environ=SHORT, watch=["run.claimed"])
    stage.clock.advance(timedelta(seconds=LEASE_S + 1))
    second.wait_said("run.claimed")
    first_claim, second_claim = claims(stage, workflow)
    assert first_claim["worker"] == first.said[0] and second_claim["worker"] == second.said[0]
    assert second_claim["fence"] > first_claim["fence"]
    assert first.process_state() == "T"
    return second


def claims(stage: Stage, workflow: str) -> list[dict[str, Any]]:
    return [
        json.loads(entry.body)["data"]
        for entry in stage.entries(stage.run(workflow).run_id)
        if entry.kind is EntryKind.STARTED
    ][:2]


@pytest.mark.parametrize("at", SENDS)
@pytest.mark.parametrize("workflow", list(RECEIVERS))
def test_frozen_past_its_lease_and_its_deadline(workflow: str, at: str, stage: Stage) -> None:
    stage.quiet()
    first = frozen(stage, workflow, at)
    second = taken_over(stage, workflow, first)
    stage.clock.advance(timedelta(seconds=ATTEMPT_S))  # from now on nothing of the first one may begin to leave
    second.wait_said("completed" if goes_on(workflow, at) else "parked")
    check_doubt(stage, workflow, at)
    after_second = len(stage.entries(stage.run(workflow).run_id))
    passed = len(stage.passed(pid=first.pid))

    first.thaw()
    first.wait()
    # What the first one knew has closed the doubt: nothing was sent, or it was accepted. Nobody need be asked any more.
    stage.start("works", workflow=workflow).wait_said("completed")
    assert before_its_next_claim(stage.passed(pid=first.pid)[passed:]) <= {
        "operation.classified", "operation.first_byte", "operation.replied", "marker.flushed", "worker.seen",
    }, "the fence refuses everything but evidence"  # fmt: skip
    entries = stage.entries(stage.run(workflow).run_id)[after_second:]
    news = [entry.kind for entry in takewhile(lambda entry: entry.kind is not EntryKind.STARTED, entries)]
    assert set(news) <= {EntryKind.LATE, EntryKind.RULED, EntryKind.CLOSED}, news
    stage.check_record()
    assert len(stage.records(RECEIVERS[workflow])) == 1


def before_its_next_claim(passed: list[list[str]]) -> set[str]:
    """The boundaries that a thawed worker passed under its old fence; it may claim the run again like any other worker."""
    return {name for names in takewhile(lambda names: "run.claimed" not in names, passed) for name in names}


def goes_on(workflow: str, at: str) -> bool:
    """Whether a second worker can bring it to an end while the first one is frozen and not proven gone."""
    # A repeat under the key is harmless; a lookup finds what has arrived; otherwise only a person knows.
    return workflow == "single" or (workflow == "single_lookup" and at == "operation.replied")


def check_doubt(stage: Stage, workflow: str, at: str) -> None:
    """As it stands once the second worker has come as far as it can while the first one is frozen."""
    stage.check_record()
    arrived = at == "operation.replied" or workflow == "single"
    assert len(stage.records(RECEIVERS[workflow])) == int(arrived)
    run, operation = stage.run(workflow), stage.operations()[OPERATIONS[workflow]]
    if goes_on(workflow, at):
        assert run.state is RunState.COMPLETED and operation.status is OperationStatus.SUCCEEDED
    else:
        assert run.reason == "outcome_unknown" and operation.status is OperationStatus.UNKNOWN
        assert run.owner == "lead" and run.deadline_at is not None, "a visible doubt"


@pytest.mark.parametrize("at", ["operation.in_flight", "operation.first_byte", "operation.replied"])
@pytest.mark.parametrize("workflow", list(RECEIVERS))
def test_thawed_after_its_lease_and_before_its_deadline(workflow: str, at: str, stage: Stage) -> None:
    """The one live attempt is the frozen one. The second worker waits for it, and hears what it brings."""
    stage.quiet()
    first = frozen(stage, workflow, at)
    second = taken_over(stage, workflow, first)
    second.wait_said("waiting")
    assert len(stage.writes(RECEIVERS[workflow])) == int(at == "operation.replied")
    first.thaw()
    second.wait_said("completed")
    first.wait()
    second.wait()
    assert len(stage.writes(RECEIVERS[workflow])) == len(stage.records(RECEIVERS[workflow])) == 1
    stage.check_record()
    assert stage.run(workflow).state is RunState.COMPLETED


def test_a_worker_frozen_in_a_step_writes_nothing_more(stage: Stage) -> None:
    """Frozen inside its user's code, until after its lease: what it then brings is refused by the fence."""
    first = stage.start("works", workflow="freezing", environ=SHORT)
    first.wait_stopped()
    second = taken_over(stage, "freezing", first)
    second.wait_said("completed")
    entries = stage.entries(stage.run("freezing").run_id)
    passed = len(stage.passed(pid=first.pid))
    first.thaw()
    first.wait()
    assert stage.entries(stage.run("freezing").run_id) == entries
    assert before_its_next_claim(stage.passed(pid=first.pid)[passed:]) <= {"worker.seen"}
    assert json.loads(stage.run("freezing").result or "") == 2, "the second one's step"
    stage.check_record()
