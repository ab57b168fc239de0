"""Which runs a lost history may have had, and since when: every combination of when, and of how often restored."""

from itertools import product

import pytest

from counterfoil.rules.lost_history import is_the_originals, lost_since, maybe_lost
from tests.unit.operation_records import HOUR, START, installation

BEFORE, AT, AFTER = START - HOUR, START, START + HOUR


@pytest.mark.parametrize(("began", "state"), list(product((BEFORE, AT, AFTER), (None, "open", "finished"))))
def test_a_run_that_was_there_when_the_restore_was_finished(began: int, state: str | None) -> None:
    restore = installation(restore_state=state, lost_until=AT if state == "finished" else None)
    expected = {None: False, "open": True, "finished": began != AFTER}
    assert maybe_lost(began, restore) is expected[state]


def test_nothing_is_lost_by_a_move_alone() -> None:
    assert not maybe_lost(BEFORE, installation(restore_state="finished", restore_at=AT))


@pytest.mark.parametrize(
    ("incarnation", "head", "since"),
    [(1, BEFORE, BEFORE), (1, AFTER, AFTER), (1, None, AT), (2, BEFORE, BEFORE), (2, AFTER, AT), (2, None, AT)],
)
def test_it_may_have_been_sent_since_the_restored_head(incarnation: int, head: int | None, since: int) -> None:
    """Of several restores only the newest head is known: an earlier one may have lost more, back to the run's beginning."""
    restore = installation(incarnation=incarnation, restored_head_at=head)
    assert lost_since(AT, restore) == since


@pytest.mark.parametrize(("began", "cloned", "expected"), [
    (BEFORE, None, False), (BEFORE, AT, True), (AT, AT, True), (AFTER, AT, False),
])  # fmt: skip
def test_in_a_clone_the_runs_of_before_are_its_originals(began: int, cloned: int | None, expected: bool) -> None:
    assert is_the_originals(began, installation(cloned_at=cloned)) is expected
