"""The power goes at every flush of a run with one operation; the disk is full; a flush fails."""

import pytest

from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import RunRecord, RunState
from tests.crash.stage import Stage

# A run of one operation has so many, from making the database to closing it; the spread is that of batches.
LEAST, MOST = 16, 22


def acknowledged(stage: Stage) -> list[tuple[str, int, str]]:
    file = stage.folder / "acknowledged"
    lines = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return [(run_id, int(sequence), head) for run_id, sequence, head in lines]


def founded(stage: Stage) -> bool:
    """Whether the power stayed until there was a ledger: before that, a file that is no ledger yet may be left."""
    try:
        return stage.batches() > 0
    except Refused as refused:
        assert refused.code == "no_database", refused
        assert not acknowledged(stage)
        return False


def check_nothing_lost(stage: Stage) -> None:
    known = {operation.operation_id: operation for operation in stage.rows(OperationRecord)}
    tried = {attempt.operation_id for attempt in stage.rows(AttemptRecord)}
    for write in stage.writes("key"):
        assert known[write["reference"]].sent and write["reference"] in tried, "sent, and its record is gone"
    for run_id, sequence, head in acknowledged(stage):
        entries = stage.entries(run_id)
        assert len(entries) > sequence and entries[sequence].digest.hex() == head, "acknowledged, and lost"


def test_a_life_with_power_has_about_so_many_flushes(stage: Stage) -> None:
    child = stage.lives(
        "cut", workflow="single", cut_at=None, survive="none", acknowledged=str(stage.folder / "acknowledged")
    )
    flushes = next(said["flushes"] for said in child.said if "flushes" in said)
    assert LEAST <= flushes <= MOST
    assert len(acknowledged(stage)) > 6  # a step is told to its own driver alone; benchmarks count those
    check_nothing_lost(stage)


@pytest.mark.parametrize("survive", ["none", "random"])
@pytest.mark.parametrize("cut_at", range(1, MOST + 1))
def test_the_power_goes_at_a_flush(cut_at: int, survive: str, stage: Stage) -> None:
    child = stage.start(
        "cut", workflow="single", cut_at=cut_at, survive=survive, acknowledged=str(stage.folder / "acknowledged")
    )
    assert child.wait() == 9 or (child.exit_code == 0 and cut_at > LEAST), child.wrote()
    if founded(stage):
        check_nothing_lost(stage)
    stage.lives(workflow="single")
    check_nothing_lost(stage)
    stage.check_record()
    assert stage.run("single").state is RunState.COMPLETED
    assert len(stage.records("key")) == 1


@pytest.mark.parametrize("lacks", ["room", "flush"])
@pytest.mark.parametrize(
    "at", ["step.ended", "operation.prepared", "operation.in_flight", "operation.classified", "run.finished"]
)
def test_a_disk_that_fails_once(at: str, lacks: str, stage: Stage) -> None:
    child = stage.lives("starved", workflow="single", at=at, lacks=lacks)
    missed = [said["writes"] for said in child.said if "writes" in said]
    assert missed[0] == int(at in ("operation.classified", "run.finished")), "nothing is sent without its record"
    check_nothing_lost(stage)
    stage.check_record()
    assert stage.run("single").state is RunState.COMPLETED
    assert len(stage.records("key")) == 1


def test_nothing_is_sent_before_the_marker_is_flushed(stage: Stage) -> None:
    child = stage.lives("starved", workflow="single", at="operation.in_flight", lacks="marker")
    assert next(said["writes"] for said in child.said if "writes" in said) == 0
    stage.check_record()
    assert stage.run("single").state is RunState.COMPLETED
    assert len(stage.records("key")) == len(stage.writes("key")) == 1


@pytest.mark.parametrize("lacks", ["room", "flush"])
def test_a_crowd_on_a_disk_that_fails(lacks: str, stage: Stage) -> None:
    """Whoever shared a failed commit is told so, each of them, and the writer goes on."""
    child = stage.lives("crowd", lacks=lacks)
    first, second = [said["told"] for said in child.said if "told" in said]
    failed = {"room": "disk_full", "flush": "storage_failed"}[lacks]
    assert set(first) <= {failed, "new"} and first.count(failed) > 1
    assert set(second) <= {"new", "existing"}
    assert len(stage.rows(RunRecord)) == len(first) == len(second)
    stage.check_record()
