"""Killed at every boundary, before and after: state before or state after, and then the end of a life without a crash."""

import pytest

from counterfoil.engine.boundaries import BOUNDARIES, COMMIT, NAMES
from tests.crash.stage import Stage

KINDS = {boundary.name: boundary.kind for boundary in BOUNDARIES}
# The story sends three times, to three kinds of receivers: the first hit is met by the receiver with a key.
SENDS = ("operation.in_flight", "marker.flushed", "operation.first_byte", "operation.replied", "operation.classified")


def test_a_life_without_a_crash_passes_every_boundary(stage: Stage) -> None:
    stage.lives()
    stage.check_whole_story()
    assert {name for names in stage.passed() for name in names} == NAMES


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", [boundary.name for boundary in BOUNDARIES])
def test_killed_at(name: str, when: str, stage: Stage) -> None:
    stage.dies(f"{when}:{name}")
    commits = [names for names in stage.passed() if KINDS[names[0]] == COMMIT]
    assert stage.batches() == len(commits), "state before or state after"
    stage.lives()
    stage.check_whole_story()


@pytest.mark.parametrize("hit", [2, 3])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", SENDS)
def test_killed_while_sending_to(hit: int, when: str, name: str, stage: Stage) -> None:
    """The receivers without a key: a lookup tells, or a person does."""
    offset = 1 if name == "marker.flushed" else 0  # opening flushes the marker, too
    if name == "operation.replied":
        stage.quiet()
    stage.dies(f"{when}:{name}#{hit + offset}")
    stage.lives()
    stage.check_whole_story()


@pytest.mark.parametrize(
    "recovered", ["operation.advanced", "operation.looked_up", "operation.classified", "run.claimed", "run.parked"]
)
@pytest.mark.parametrize("doubt", ["operation.first_byte#2", "before:operation.classified#2", "operation.first_byte#3"])
def test_killed_again_while_it_recovers(doubt: str, recovered: str, stage: Stage) -> None:
    stage.dies(doubt)
    for when in ("before", "after"):
        child = stage.start(crash_at=f"{when}:{recovered}")
        assert child.wait() in (9, 0), child.wrote()
    stage.lives()
    stage.check_whole_story()


@pytest.mark.parametrize("length", [9, 11, 14, 17])
def test_lives_of_a_few_boundaries_each(length: int, stage: Stage) -> None:
    """Whatever is killed, as often as it is killed: the run comes to the same end."""
    for life in range(60):
        child = stage.start("worn", boundaries=length + life // 8)
        if child.wait() == 0:
            break
        assert child.exit_signal == 9, child.wrote()
    assert life > 2
    stage.check_whole_story()
