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
