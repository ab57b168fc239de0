"""Which line is which operation. Two that fit are none."""

from dataclasses import replace
from typing import Any

import pytest

from counterfoil.model import ids
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.rules.statement_lines import StatementLine
from counterfoil.rules.statement_match import EARLY_US, Match, ids_in, matches
from tests.unit.operation_records import HOUR, START, operation

OP = ids.operation_id("run_1", 0, "1", "pay", 0)


def doubt(operation_id: str = "op_1", **parts: Any) -> OperationRecord:
    base: dict[str, Any] = {
        "operation_id": operation_id, "status": OperationStatus.UNKNOWN, "sent": 1, "first_sent_at": START,
        "amount_minor": 700, "currency": "EUR",
    }  # fmt: skip
    return operation(**(base | parts))


def success(operation_id: str = "op_1", **parts: Any) -> OperationRecord:
    return doubt(operation_id, status=OperationStatus.SUCCEEDED, **parts)


def line(number: int = 1, **parts: Any) -> StatementLine:
    return replace(StatementLine(number, None, 700, "EUR", START, START), **parts)


def held(*lines: StatementLine, named: Any = None, doubts: Any = (), succeeded: Any = ()) -> list[Match]:
    return matches(lines, named or {}, doubts, succeeded, within_us=HOUR)


def results(*given: Any, **parts: Any) -> list[str]:
    return [match.result for match in held(*given, **parts)]


def test_a_reference_decides_first() -> None:
    named = {"re_1": [success("op_2")]}
    found = held(line(reference="re_1"), line(2), named=named, doubts=[doubt()])
    assert [(each.result, each.operations[0].operation_id) for each in found] == [
        ("matched", "op_2"),
        ("doubtful", "op_1"),
    ]


@pytest.mark.parametrize(
    ("parts", "result"),
    [
        ({}, "doubtful"),
        ({"reference": "unknown to us"}, "doubtful"),
        ({"minor": 701}, "theirs_not_ours"),
        ({"currency": "USD"}, "theirs_not_ours"),
        ({"minor": None}, "theirs_not_ours"),
        ({"begin": None, "end": None}, "theirs_not_ours"),
        ({"begin": START + HOUR, "end": START + HOUR}, "doubtful"),
        ({"begin": START + HOUR + 1, "end": START + HOUR + 1}, "theirs_not_ours"),
        ({"begin": START - EARLY_US, "end": START - EARLY_US}, "doubtful"),
        ({"begin": START - EARLY_US - 1, "end": START - EARLY_US - 1}, "theirs_not_ours"),
        ({"begin": START - 20 * HOUR, "end": START + HOUR}, "doubtful"),
    ],
)
def test_without_a_known_reference_amount_and_time_decide(parts: dict[str, Any], result: str) -> None:
    assert results(line(**parts), doubts=[doubt()]) == [result]


def test_a_doubt_without_a_send_time_or_an_amount() -> None:
    assert results(line(), doubts=[doubt(first_sent_at=None)]) == ["doubtful"]
    assert results(line(), doubts=[doubt(amount_minor=None, currency=None)]) == ["theirs_not_ours"]


def test_two_operations_or_two_lines_are_several() -> None:
    assert results(line(), doubts=[doubt("op_1"), doubt("op_2")]) == ["several"]
    assert results(line(1), line(2), doubts=[doubt()]) == ["several", "several"]
    assert results(line(1, reference="r"), line(2, reference="r"), named={"r": [success()]}) == ["several", "several"]


def test_a_success_is_taken_by_amount_only_for_a_line_without_reference() -> None:
    assert results(line(), succeeded=[success()]) == ["matched"]
    assert results(line(reference="other"), succeeded=[success()]) == ["theirs_not_ours"]
    assert results(line(), doubts=[doubt("op_2")], succeeded=[success()]) == ["several"]
    assert results(line(reference="other"), doubts=[doubt("op_2")], succeeded=[success()]) == ["doubtful"]


def test_what_differs_is_a_mismatch_and_what_contradicts_us_is_said() -> None:
    def one(record: OperationRecord, **parts: Any) -> Match:
        return held(line(reference="r", **parts), named={"r": [record]})[0]

    assert (one(doubt(), minor=701).result, one(doubt(), currency="USD").result) == ("mismatch", "mismatch")
    assert one(doubt(), minor=None).result == "doubtful"
    assert one(doubt(amount_minor=None, currency=None)).result == "doubtful"
    assert (one(doubt(status=OperationStatus.FAILED)).why, one(doubt(sent=0)).why) == (
        "ours is failed",
        "ours is never sent",
    )


@pytest.mark.parametrize("form", list(ids.KeyFormat))
def test_our_id_is_found_in_every_shape_of_a_key(form: ids.KeyFormat) -> None:
    assert ids_in(ids.encode_key(OP, 3, form)) == {OP}


def test_a_reference_of_theirs_is_none_of_our_ids() -> None:
    assert ids_in(OP) == {OP}
    for reference in ("re_1", "", "pi_3Q", "op_-x", "12345678-1234-4234-8234-123456789abc", "v" * 24 + "w"):
        assert OP not in ids_in(reference)
