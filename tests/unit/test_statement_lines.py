"""Statements as they come: quoted, in other columns, with bad lines. What cannot be read is named by its line."""

from typing import Any

import pytest

from counterfoil.model.errors import Refused
from counterfoil.rules.statement_lines import DAY_US, Reading, Statement, StatementLine, read_statement

AT = 1_764_411_000_000_000  # 2025-11-29T10:10:00Z
HEAD = "reference,amount,currency,at\n"


def read(text: str | bytes, **parts: Any) -> Statement:
    content = text if isinstance(text, bytes) else text.encode()
    return read_statement(content, Reading(**parts), name="june")


def line(text: str, **parts: Any) -> StatementLine:
    (found,) = read(HEAD + text, **parts).lines
    return found


def test_a_plain_line() -> None:
    assert line("re_1,12.50,EUR,2025-11-29T10:10:00Z") == StatementLine(2, "re_1", 1250, "EUR", AT, AT)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("2025-11-29T10:10:00", (AT, AT)),
        ("2025-11-29T11:10:00+01:00", (AT, AT)),
        ("2025-11-29 10:10:00", (AT, AT)),
        ("1764411000", (AT, AT)),
        ("1764411000000", (AT, AT)),
        ("2025-11-29", (AT - 36_600_000_000, AT - 36_600_000_000 + DAY_US - 1)),
    ],
)
def test_times(text: str, times: tuple[int, int]) -> None:
    found = line(f"re_1,1,EUR,{text}")
    assert (found.begin, found.end) == times


@pytest.mark.parametrize(
    ("text", "parts", "minor", "currency"),
    [
        ("re,12,EUR,", {}, 1200, "EUR"),
        ("re,12,jpy,", {}, 12, "JPY"),
        ("re,1.234,KWD,", {}, 1234, "KWD"),
        ("re,1234,EUR,", {"minor": True}, 1234, "EUR"),
        ("re,12.50,,", {"currency": "USD"}, 1250, "USD"),
        ("re,-12.50,EUR,", {"negative": True}, 1250, "EUR"),
        ("re,0.00,EUR,", {}, 0, "EUR"),
        ("re,0,EUR,", {"negative": True}, 0, "EUR"),
        ("re,,EUR,", {}, None, None),
    ],
)
def test_amounts(text: str, parts: dict[str, Any], minor: int | None, currency: str | None) -> None:
    found = line(text, **parts)
    assert (found.minor, found.currency) == (minor, currency)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("re,12.505,EUR,", "'12.505' is no amount of EUR"),
        ("re,1.5,JPY,", "'1.5' is no amount of JPY"),
        ("re,12,Euro,", "'EURO' is no currency code"),
        ("re,12,,", "its amount has no currency"),
        ("re,twelve,EUR,", "'twelve' is no amount"),
        ("re,NaN,EUR,", "'NaN' is no amount of EUR"),
        ("re,1e400,EUR,", "'1e400' is no amount of EUR"),
        ("re,1e999999999,EUR,", "'1e999999999' is no amount of EUR"),
        ("re,1e-999999999,EUR,", "'1e-999999999' is no amount of EUR"),
        ("re,10.0000000000000000000000000000001,EUR,", "'10.0000000000000000000000000000001' is no amount of EUR"),
        ("re,99999999999999999,EUR,", "'99999999999999999' is no amount of EUR"),
        ("re,12,EUR,yesterday", "'yesterday' is no time"),
        ("re,12,EUR,0001-01-01T00:00:00+23:00", None),
        (",12,EUR,", "it has neither a reference nor an amount with a time"),
        (",,,2025-11-29", "it has neither a reference nor an amount with a time"),
        ("re,12,EUR", "it has 3 columns, and the header 4"),
        ('re,"12"x,EUR,', "',' expected after '\"'"),
        ('re,"12,EUR,', "unexpected end of data"),
    ],
)
def test_a_line_that_cannot_be_read_is_named_and_the_others_are_read(text: str, problem: str | None) -> None:
    found = read(f"{HEAD}re_0,1,EUR,\n{text}")
    if problem is None:
        assert len(found.lines) == 2
        return
    assert [each.line for each in found.lines] == [2]
    assert [(each.line, each.problem) for each in found.unreadable] == [(3, problem)]


def test_a_quoted_line_break_keeps_the_count_of_lines() -> None:
    found = read(f'{HEAD}"re\none",1,EUR,\n\n"re ""two""",2,EUR,\n')
    assert [(each.line, each.reference) for each in found.lines] == [(2, "re\none"), (5, 're "two"')]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_lines_end_as_any_system_ends_them(end: str) -> None:
    text = f"{HEAD}re_1,1,EUR,\nre_2,2,EUR,\n".replace("\n", end)
    assert [(each.line, each.reference) for each in read(text).lines] == [(2, "re_1"), (3, "re_2")]
    objects = '{"reference": "re_1"}\n{"reference": "re_2"}\n'.replace("\n", end)
    assert [(each.line, each.reference) for each in read(objects).lines] == [(1, "re_1"), (2, "re_2")]


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        ('{"reference": "re", "amount": 1e999999999, "currency": "EUR"}', "'1E+999999999' is no amount of EUR"),
        ('{"reference": "\\ud800"}', "its reference is not Unicode text"),
    ],
)
def test_a_record_of_json_that_cannot_be_read_is_named(record: str, problem: str) -> None:
    found = read(f'{record}\n{{"reference": "re_1"}}\n')
    assert [each.reference for each in found.lines] == ["re_1"]
    assert [(each.line, each.problem) for each in found.unreadable] == [(1, problem)]


def test_other_columns_delimiters_and_a_byte_order_mark() -> None:
    columns = {"reference": "Id", "amount": "NET", "currency": "cur", "at": "made"}
    for delimiter in (",", ";", "\t"):
        text = delimiter.join(("id", "type", "net", "cur", "made")) + "\r\n"
        text += delimiter.join(("re_1", "refund", "3.00", "eur", "2025-11-29")) + "\r\n"
        text += delimiter.join(("ch_1", "charge", "3.00", "eur", "2025-11-29")) + "\r\n"
        found = read(b"\xef\xbb\xbf" + text.encode(), columns=columns, only={"Type": "refund"})
        assert ([each.reference for each in found.lines], found.skipped) == (["re_1"], 1)


def test_what_was_received_is_not_what_was_sent() -> None:
    text = HEAD + "in,5.00,EUR,\nout,-5.00,EUR,\n"
    assert [each.reference for each in read(text).lines] == ["in"]
    assert [each.reference for each in read(text, negative=True).lines] == ["out"]


def test_json_lines() -> None:
    text = (
        '{"Reference": "re_1", "amount": 12.5, "currency": "eur", "at": "2025-11-29T10:10:00Z", "more": {"a": [1]}}\n\n'
        '{"reference": null}\nnot json\n[1]\n{"reference": "re_2", "amount": 3}\n' + "[" * 100_000
    )
    found = read(text, currency="EUR")
    assert [(each.line, each.reference, each.minor) for each in found.lines] == [(1, "re_1", 1250), (6, "re_2", 300)]
    assert [each.line for each in found.unreadable] == [3, 4, 5, 7]
    nested = read('{"id": "x", "money": {"value": 7, "code": "EUR"}}', minor=True, columns={
        "reference": "id", "amount": "money.value", "currency": "money.code",
    })  # fmt: skip
    assert (nested.lines[0].minor, nested.lines[0].currency) == (7, "EUR")


@pytest.mark.parametrize(
    ("content", "parts", "problem"),
    [
        (b"", {}, "it is empty"),
        (b"\n \n", {}, "it is empty"),
        (b"\xff\xfea", {}, "byte 0 is not UTF-8"),
        (b"a,b\n1,2\n", {}, "its first line names neither reference nor amount"),
        (b"reference,amount\n", {}, "it holds no line"),
        (
            b"reference,amount," + b"x" * 200_000 + b"\n1,2,3\n",
            {},
            "its header: field larger than field limit (131072)",
        ),
        (b"reference,reference\n1,2\n", {}, "a column stands twice in its header"),
        (
            b"reference,amount\n1,2\n",
            {"columns": {"at": "when"}},
            "there is no column when; there are reference, amount",
        ),
        (b"reference,amount\n1,2\n", {"only": {"type": "x"}}, "there is no column type; there are reference, amount"),
        (b"reference,amount\n1,2\n", {"currency": "euro"}, "'euro' is no currency code"),
    ],
)
def test_a_file_that_is_no_statement(content: bytes, parts: dict[str, Any], problem: str) -> None:
    with pytest.raises(Refused) as refused:
        read(content, **parts)
    assert (refused.value.code, refused.value.details["problem"]) == ("malformed_statement", problem)
