"""The disk is full at a commit, or a flush fails: whoever asked for it is told so, nothing is sent without its record, and it goes on."""

import pytest

from counterfoil.model.run import RunRecord, RunState
from tests.crash.kept import check_nothing_lost
from tests.crash.stage import Stage


@pytest.mark.parametrize("lacks", ["room", "flush"])
@pytest.mark.parametrize(
    "at", ["step.ended", "operation.prepared", "operation.in_flight", "operation.classified", "run.finished"]
)
def test_a_disk_that_fails_once(at: str, lacks: str, stage: Stage) -> None:
    child = stage.lives("tests.crash.disks:starved", workflow="single", at=at, lacks=lacks)
    missed = [said["writes"] for said in child.said if "writes" in said]
    assert missed[0] == int(at in ("operation.classified", "run.finished")), "nothing is sent without its record"
    check_nothing_lost(stage)
    stage.check_record()
    assert stage.run("single").state is RunState.COMPLETED
    assert len(stage.records("key")) == 1


def test_nothing_is_sent_before_the_marker_is_flushed(stage: Stage) -> None:
    child = stage.lives("tests.crash.disks:starved", workflow="single", at="operation.in_flight", lacks="marker")
    assert next(said["writes"] for said in child.said if "writes" in said) == 0
    stage.check_record()
    assert stage.run("single").state is RunState.COMPLETED
    assert len(stage.records("key")) == len(stage.writes("key")) == 1


@pytest.mark.parametrize("lacks", ["room", "flush"])
def test_a_crowd_on_a_disk_that_fails(lacks: str, stage: Stage) -> None:
    """Whoever shared a failed commit is told so, each of them, and the writer goes on."""
    child = stage.lives("tests.crash.disks:crowd", lacks=lacks)
    first, second = [said["told"] for said in child.said if "told" in said]
    lost = {"sqlite": "storage_failed", "postgres": "server_lost"}[stage.ledger.backend]
    failed = {"room": "disk_full", "flush": lost}[lacks]
    assert set(first) <= {failed, "new"} and first.count(failed) > 1
    assert set(second) <= {"new", "existing"}
    assert len(stage.rows(RunRecord)) == len(first) == len(second)
    stage.check_record()
