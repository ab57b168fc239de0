"""Who proposed a version: who submitted the run, and who asked for it in place of an earlier one."""

from dataclasses import replace
from typing import Any

import pytest

from counterfoil.model.review import ReviewState
from counterfoil.rules.authority import proposers
from counterfoil.testing.conformance.samples import run_named
from tests.unit.operation_records import review

REVIEW = review(proposal_version=2)
ASKED = review(review_id="rev_0", state=ReviewState.REJECTED, reviewer="oscar", ask_revision=1, proposal_version=1)


@pytest.mark.parametrize(
    ("by", "earlier", "found"),
    [
        (None, [], set()),
        ("ana", [], {"ana"}),
        ("ana", [ASKED], {"ana", "oscar"}),
        (None, [ASKED, REVIEW], {"oscar"}),
        (None, [replace(ASKED, state=ReviewState.SUPERSEDED)], set()),
        (None, [replace(ASKED, ask_revision=0)], set()),
        (None, [replace(ASKED, proposal_version=2)], set()),
        (None, [replace(ASKED, reviewer=None)], set()),
    ],
)
def test_proposers(by: str | None, earlier: list[Any], found: set[str]) -> None:
    assert proposers(replace(run_named("run_1", 1), submitted_by=by), REVIEW, earlier) == found
