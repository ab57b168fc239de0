"""What a count of records says, by what the contract's `counts_as` asks for. Less than it asks for is a notice."""

from datetime import timedelta

import pytest

from counterfoil.model.contract import Contract, Lookup, Reference, When
from counterfoil.model.operation import OperationStatus
from counterfoil.rules.witness import Witnessed, weigh

ONE, TWO = Witnessed("a", None, "robot"), Witnessed("b", None, "robot")
COPY, UNNAMED = Witnessed("b", None, "ana"), Witnessed("b", None)
MINUTE = 60_000_000


def contract(*counts_as: str, visible: timedelta = timedelta(0)) -> Contract:
    return Contract(
        api_version="1",
        classifier=[When(status="2xx").means("applied")],
        lookup=Lookup("desk:find", visible_within=visible, finds_by="operation_id"),
        reference=Reference(header="X"),
        counts_as=frozenset(counts_as),
    )


def counted(
    *seen: Witnessed, counts_as: tuple[str, ...] = ("reference",), failed: bool = False, waited: int = 0
) -> str:
    status = OperationStatus.FAILED if failed else OperationStatus.SUCCEEDED
    return weigh(contract(*counts_as), status, "d", seen, {"a"}, waited).result


def test_without_our_reference_a_second_record_is_a_notice() -> None:
    assert counted(ONE) == counted() == "fits"
    assert counted(ONE, TWO) == "duplicate"
    assert counted(ONE, TWO, counts_as=()) == "notice"
    assert counted(ONE, ONE) == "fits", "one record, seen on two pages"


@pytest.mark.parametrize(
    ("seen", "found"),
    [
        ((ONE, TWO), "duplicate"),
        ((ONE, COPY), "notice"),
        ((ONE, UNNAMED), "notice"),
        ((COPY, Witnessed("c", None, "ana")), "notice"),  # ours is gone, so nobody knows its maker
        ((Witnessed("a", None), UNNAMED), "notice"),
        ((ONE, COPY, Witnessed("c", None, "robot")), "duplicate"),
    ],
)
def test_a_copied_marker_is_no_second_effect(seen: tuple[Witnessed, ...], found: str) -> None:
    assert counted(*seen, counts_as=("reference", "credential")) == found
    assert counted(*seen) == "duplicate"


def test_a_record_is_to_be_there_at_a_second_look() -> None:
    twice = ("reference", "seen_twice")
    assert [counted(ONE, TWO, counts_as=twice, waited=after) for after in (0, MINUTE - 1, MINUTE)] == [
        "again",
        "again",
        "duplicate",
    ]
    slow = contract(*twice, visible=timedelta(hours=1))
    assert weigh(slow, OperationStatus.SUCCEEDED, "d", (ONE, TWO), {"a"}, MINUTE).result == "again"


def test_a_record_of_what_failed_needs_no_second_one() -> None:
    assert counted(ONE, failed=True, counts_as=()) == "duplicate"
    assert counted(ONE, failed=True, counts_as=("reference", "seen_twice")) == "again"
    assert counted(Witnessed("a", "other"), failed=True) == "fits", "other content is no record of it"
