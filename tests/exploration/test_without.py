"""With a protection taken away the explorer finds the story that it prevents. The others are the drills' to find."""

from typing import Any

import pytest

from counterfoil.model.errors import Refused
from counterfoil.testing.explore import Bounds, explore
from counterfoil.testing.guards import GUARDS

PLAIN = {"crashes": 0, "rare": 0, "words": 0}
SEEN: dict[str, tuple[str, Bounds, str]] = {
    "key-reuse": ("key", Bounds(depth=8, **PLAIN), "one_effect"),
    "fence": ("none", Bounds(depth=6), "fence"),
    "attempt-deadline": ("none", Bounds(depth=5), "deadline"),
    "approval-recheck": ("none", Bounds(depth=5), "approval"),
    "visibility-wait": ("lookup", Bounds(depth=13, **PLAIN), "one_effect"),
    "window-check": ("key", Bounds(depth=7, **PLAIN), "one_effect"),
    "stop-check": ("none", Bounds(depth=5), "stopped"),
    "sender-gone": ("lookup", Bounds(depth=13, **PLAIN), "one_effect"),
    "lost-history": ("lookup", Bounds(depth=10, words=0), "one_effect"),
}
# One operation of one run, whose bytes never change, does not meet these; a budget of four tries lies beyond the depth.
DRILLS_ONLY = {
    "request-digest", "payload-digest", "approval-single-use", "business-key", "budget-check", "tombstone",
}  # fmt: skip


def explored(guard: str | None, kind: str, bounds: Bounds) -> list[dict[str, Any]]:
    (found,) = explore((kind,), bounds, without=guard)["kinds"]
    return found["violations"]


@pytest.mark.parametrize("guard", SEEN)
def test_the_story_that_a_guard_prevents_is_found(guard: str) -> None:
    kind, bounds, invariant = SEEN[guard]
    found = {violation["invariant"]: violation for violation in explored(guard, kind, bounds)}
    assert invariant in found
    assert len(found[invariant]["story"]) >= 9, "a whole story, from the claim on"
    if invariant == "one_effect":
        assert len(found[invariant]["receiver_records"]) == 2


@pytest.mark.parametrize(
    "guard", ["key-reuse", "fence", "visibility-wait", "window-check", "sender-gone", "lost-history"]
)
def test_with_the_guard_the_same_search_finds_nothing(guard: str) -> None:
    kind, bounds, _ = SEEN[guard]
    assert explored(None, kind, bounds) == []


def test_every_guard_is_seen_here_or_left_to_the_drills() -> None:
    assert set(SEEN) | DRILLS_ONLY == set(GUARDS)
    assert not set(SEEN) & DRILLS_ONLY


def test_an_unknown_guard_and_an_unknown_kind_are_refused() -> None:
    with pytest.raises(Refused) as refused:
        explore(("none",), without="no-such-guard")
    assert refused.value.code == "not_found"
    with pytest.raises(Refused) as refused:
        explore(("Q",))
    assert refused.value.code == "usage"
