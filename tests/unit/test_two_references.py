"""Two answers that name two records: one intention has had two effects, and nobody need look that up."""

from dataclasses import replace
from typing import Any

import pytest

from counterfoil.model.operation import OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from tests.unit.operation_records import HOUR, START, answered, letter, operation, receipt, situation

CLOSED_AT = START + HOUR
LATER = CLOSED_AT + 60


def told(reference: str, at: int, **parts: Any) -> ReceiptRecord:
    return replace(receipt("reply", at), receipt_id=f"rcp_{reference}", reference=reference, **parts)


def closed(*receipts: ReceiptRecord, **parts: Any) -> Any:
    succeeded = operation(status=OperationStatus.SUCCEEDED, sent=1, attempts=2, closed_at=CLOSED_AT)
    attempts = (answered(1, 200, "applied"), answered(2, 200, "applied"))
    return situation(operation=succeeded, attempts=attempts, receipts=receipts, **parts)


@pytest.mark.parametrize("how", ["reply", "webhook"])
def test_a_late_answer_with_another_reference_opens_an_incident(how: str) -> None:
    assert letter(closed(told("re_1", CLOSED_AT), told("re_2", LATER, how=how))) == "A"


@pytest.mark.parametrize(
    "second",
    [
        told("re_1", LATER),
        told("re_2", LATER, proves="current_state"),
        told("unnamed sha256:r", LATER),
        told("unnamed", LATER),
        told("re_2", LATER, how="person"),
        told("re_2", LATER, how="statement"),
        told("re_2", LATER, how="webhook", proves="existence"),  # its contract names no place of our reference in it
        told("re_2", LATER, how="webhook", proves="current_state"),  # what became of it later
    ],
    ids=lambda second: f"{second.reference}-{second.how}-{second.proves}",
)
def test_what_may_speak_of_the_same_record_opens_none(second: ReceiptRecord) -> None:
    assert letter(closed(told("re_1", CLOSED_AT), second)) == "B"


def test_it_is_asked_about_once() -> None:
    two = (told("re_1", CLOSED_AT), told("re_2", LATER))
    assert letter(closed(*two, incident_open=True)) == "B"
    assert letter(closed(*two, weighed_at=LATER + 1)) == "B", "a person has weighed it"
    assert letter(closed(*two, told("re_3", LATER + 2), weighed_at=LATER + 1)) == "A", "and one more is news"
