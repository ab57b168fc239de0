"""The checkers are seen to detect: with one protection taken away, a few focused schedules find a violation."""

import pytest

from counterfoil.testing.guards import without
from counterfoil.testing.simulate import play
from counterfoil.testing.simulate.options import Options

BOUND = 12  # schedules


def _focused(
    *operations: str, runs: int = 4, acts: int = 2, calm: float = 60.0, workers: int = 2, **rates: float
) -> Options:
    return Options(
        workers, runs, acts, calm, operations, False, {name.replace("_", "-"): rate for name, rate in rates.items()}
    )


CAUGHT: dict[str, tuple[Options, str]] = {
    "key-reuse": (_focused("keyed", drop_reply=0.4), "duplicates"),
    "visibility-wait": (_focused("listed", drop_reply=0.4), "duplicates"),
    "window-check": (_focused("keyed", workers=1, calm=600.0, hang=0.6, freeze=8.0, kill=4.0), "duplicates"),
    "business-key": (_focused("mute", runs=6, same_number=1.0), "duplicates"),
    "tombstone": (_focused("mute", resubmit=1.0), "duplicates"),
    "payload-digest": (_focused("keyed_reviewed", answer_other_version=30.0, reject=0.4), "approvals"),
    "approval-single-use": (_focused("keyed_reviewed", "mute_reviewed", acts=4, answer_twice=20.0), "approvals"),
    "stop-check": (_focused("keyed", runs=6, suspend=10.0), "stops"),
    "attempt-deadline": (_focused("keyed", freeze_at_boundary=0.15), "deadline"),
}


@pytest.mark.parametrize("guard", CAUGHT)
def test_without_a_guard_a_checker_finds_it(guard: str) -> None:
    options, checker = CAUGHT[guard]
    with without(guard):
        for seed in range(BOUND):
            found = {violation.checker for violation in play(seed, options=options).violations}
            if found:
                assert checker in found
                return
    raise AssertionError(f"{BOUND} schedules without {guard} found nothing")


@pytest.mark.parametrize("guard", ["key-reuse", "tombstone"])
def test_with_the_guard_the_same_schedule_is_clean(guard: str) -> None:
    assert play(0, options=CAUGHT[guard][0]).violations == []
