"""The power goes at every flush of a run with one operation."""

import pytest

from counterfoil.model.errors import Refused
from counterfoil.model.run import RunState
from tests.crash.kept import acknowledged, check_nothing_lost
from tests.crash.stage import Stage

# A run of one operation has so many, from making the database to closing it; the spread is that of batches.
LEAST, MOST = 16, 22


def founded(stage: Stage) -> bool:
    """Whether the power stayed until there was a ledger: before that, a file that is no ledger yet may be left."""
    try:
        return stage.batches() > 0
    except Refused as refused:
        assert refused.code == "no_database", refused
        assert not acknowledged(stage)
        return False


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
