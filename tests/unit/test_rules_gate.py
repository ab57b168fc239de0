"""The gate's rules: every combination of what is declared, what was drilled and what was waived."""

from dataclasses import replace
from itertools import product

import pytest

from counterfoil.model.drill import Covered, DrillRecord, PlayedCase, Rehearsal, WaiverRecord
from counterfoil.rules.gate import Gate, covered, of_drill, sentence_of, stands, unattended, why_not

SEND = Covered("pay", "sha256:c", "refund", 2)
DRILL = DrillRecord("pay", "sha256:c", "refund", 2, "m:refund", "sha256:t", 0, 9, 8, 1, 0, None, 5)
WAIVER = WaiverRecord("pay", "first week", "ana", 5, 100, None, None)
PASSED = PlayedCase("refund/a/kill-after", "kill-after", "pass")
WHOLE = Rehearsal("m:refund", "sha256:t", 0, (SEND,), (PASSED,))


@pytest.mark.parametrize(
    ("gate", "environments", "review"),
    list(product(Gate, [set(), {"test"}, {"live"}, {"test", "live"}], [True, False])),
)
def test_what_is_reviewed_is_attended_and_one_word_for_live_is_enough(
    gate: Gate, environments: set[str], review: bool
) -> None:
    needs = unattended(gate, environments, review_needed=review)
    assert needs is (not review and (gate is Gate.ALL or "live" in environments))


@pytest.mark.parametrize(
    "other", [{"operation": "mail"}, {"contract_digest": "sha256:d"}, {"workflow": "buy"}, {"workflow_version": 3}]
)
def test_a_drill_speaks_for_exactly_one_operation_contract_and_version(other: dict[str, object]) -> None:
    assert of_drill(DRILL) == SEND and covered(SEND, [DRILL], [], 10)
    assert not covered(SEND, [replace(DRILL, **other)], [], 10)
    assert not covered(SEND, [], [], 10)


@pytest.mark.parametrize(("revoked_at", "now"), list(product([None, 50], [99, 100, 101])))
def test_a_waiver_stands_until_its_end_or_until_it_is_taken_back(revoked_at: int | None, now: int) -> None:
    waiver = replace(WAIVER, revoked_at=revoked_at)
    expected = revoked_at is None and now < 100
    assert stands(waiver, now) is expected
    assert covered(SEND, [], [waiver], now) is expected
    assert not covered(SEND, [], [replace(waiver, operation="mail")], now)


FAILED = replace(PASSED, case_id="refund/b/hang", verdict="fail")
UNPLAYED = replace(PASSED, case_id="refund/c/hang", verdict="not_run")
NOT_BUILT = replace(UNPLAYED, not_built="8")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({}, None),
        ({"cases": (PASSED, NOT_BUILT)}, None),
        ({"cases": (PASSED, FAILED)}, "refund/b/hang"),
        ({"cases": (PASSED, UNPLAYED)}, "refund/c/hang"),
        ({"left_out": ("refund/d/hang",)}, "refund/d/hang"),
        ({"cases": (NOT_BUILT,)}, "no case of it passed"),
        ({"covers": ()}, "no operation"),
    ],
)
def test_only_a_whole_drill_without_a_failure_is_registered(changed: dict[str, object], problem: str | None) -> None:
    said = why_not(replace(WHOLE, **changed))
    assert said is None if problem is None else problem in (said or "")


def test_what_is_missing_is_named() -> None:
    assert all(word in sentence_of(SEND) for word in ("pay", "refund version 2", "sha256:c", "waiver"))
