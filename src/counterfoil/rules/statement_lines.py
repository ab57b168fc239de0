"""A provider's statement, from bytes to lines: CSV with a header, or JSON lines. A line that cannot be read is named, not guessed."""

import csv
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal, InvalidOperation
from typing import Any, cast

from counterfoil.model.errors import Refused
from counterfoil.model.money import digits_of, is_currency

DAY_US = 24 * 3600 * 1_000_000
NAMES = ("reference", "amount", "currency", "at")
_DELIMITERS = (",", ";", "\t")
_LARGEST = 2**53
_FIGURES = 24


@dataclass(frozen=True, slots=True)
class Reading:
    """How a statement is read.

    `columns`: which column holds what, by our name for it; `minor`: amounts are in minor units; `currency`: where no column
    holds it; `negative`: what left us is written below zero, and what is above zero is not ours; `only`: a line counts where
    each of these columns holds this value.
    """

    columns: Mapping[str, str] = field(default_factory=lambda: {})
    minor: bool = False
    currency: str | None = None
    negative: bool = False
    only: Mapping[str, str] = field(default_factory=lambda: {})


@dataclass(frozen=True, slots=True)
class StatementLine:
    """One line. `begin` and `end` bound its time in microseconds: one instant, or a whole day where only that is given."""

    line: int
    reference: str | None
    minor: int | None
    currency: str | None
    begin: int | None
    end: int | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A line that says nothing we may rely on, and why."""

    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class Statement:
    """`skipped`: how many lines `Reading` leaves out."""

    lines: tuple[StatementLine, ...]
    unreadable: tuple[Unreadable, ...]
    skipped: int


class _Bad(Exception):
    pass


def read_statement(content: bytes, reading: Reading, *, name: str) -> Statement:
    """Raises Refused(malformed_statement): no text, no header, or a column that is not there."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise _malformed(name, f"byte {problem.start} is not UTF-8") from problem
    if is_currency(reading.currency or "EUR") is False:
        raise _malformed(name, f"{reading.currency!r} is no currency code")
    text = text.replace("\r\n", "\n").replace("\r", "\n")  # some spreadsheets end lines with a lone carriage return
    as_json = text.lstrip().startswith("{")
    records = _json_lines(text) if as_json else _csv_lines(text, reading, name)
    lines: list[StatementLine] = []
    unreadable: list[Unreadable] = []
    skipped = 0
    for number, record in records:
        try:
            read = _line(number, _checked(record), reading)
        except _Bad as problem:
            unreadable.append(Unreadable(number, str(problem)))
            continue
        if read is None:
            skipped += 1
        else:
            lines.append(read)
    if not lines and not unreadable and not skipped:
        raise _malformed(name, "it holds no line")
    return Statement(tuple(lines), tuple(unreadable), skipped)


def _malformed(name: str, problem: str) -> Refused:
    return Refused("malformed_statement", name=name, problem=problem)


Record = dict[str, Any] | _Bad


def _checked(record: Record) -> dict[str, Any]:
    if isinstance(record, _Bad):
        raise record
    return record


def _json_lines(text: str) -> Iterator[tuple[int, Record]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            found = json.loads(line, parse_float=Decimal)
            record: Record = (
                _flat(cast("dict[str, Any]", found)) if isinstance(found, dict) else _Bad("it is no JSON object")
            )
        except (ValueError, ArithmeticError, RecursionError) as problem:  # a Decimal has its own errors, as Overflow
            record = _Bad(f"it is not JSON: {problem}")
        yield number, record


def _flat(record: dict[str, Any], before: str = "") -> dict[str, Any]:
    """Nested objects by path: `{"amount": {"value": 1}}` has a column `amount.value`."""
    found: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            found |= _flat(cast("dict[str, Any]", value), f"{before}{name}.".lower())
        else:
            found[f"{before}{name}".lower()] = value
    return found


def _csv_lines(text: str, reading: Reading, name: str) -> Iterator[tuple[int, Record]]:
    rows = [f"{line}\n" for line in text.split("\n")]
    header_at = next((n for n, row in enumerate(rows) if row.strip()), None)
    if header_at is None:
        raise _malformed(name, "it is empty")
    delimiter, header = _header(rows[header_at], reading, name)
    reader = csv.reader(rows[header_at + 1 :], delimiter=delimiter, strict=True)
    while True:
        begin = header_at + 2 + reader.line_num
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as problem:
            yield begin, _Bad(str(problem))
            continue
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(header):
            yield begin, _Bad(f"it has {len(cells)} columns, and the header {len(header)}")
            continue
        yield begin, dict(zip(header, cells, strict=True))


def _header(row: str, reading: Reading, name: str) -> tuple[str, list[str]]:
    """The delimiter under which the header has the columns that are needed."""
    wanted = [reading.columns.get(each, each).lower() for each in ("reference", "amount")]
    named = [column.lower() for column in (*reading.columns.values(), *reading.only)]
    for delimiter in _DELIMITERS:
        try:
            header = [cell.strip().lower() for cell in next(csv.reader([row], delimiter=delimiter))]
        except csv.Error as problem:
            raise _malformed(name, f"its header: {problem}") from problem
        if any(column in header for column in wanted):
            absent = [column for column in named if column not in header]
            if absent:
                raise _malformed(name, f"there is no column {absent[0]}; there are {', '.join(header)}")
            if len(set(header)) < len(header):
                raise _malformed(name, "a column stands twice in its header")
            return delimiter, header
    raise _malformed(name, f"its first line names neither {wanted[0]} nor {wanted[1]}")


def _line(number: int, record: dict[str, Any], reading: Reading) -> StatementLine | None:
    """The line, or None where `reading` leaves it out. Raises _Bad."""

    def cell(column: str) -> str:
        value = record.get(column.lower())
        return "" if value is None else str(value).strip()

    if any(cell(column) != value for column, value in reading.only.items()):
        return None
    given = {each: cell(reading.columns.get(each, each)) for each in NAMES}
    currency = (given["currency"] or reading.currency or "").upper() or None
    if currency is not None and not is_currency(currency):
        raise _Bad(f"{currency!r} is no currency code")
    minor = _minor(given["amount"], currency, reading) if given["amount"] else None
    if minor is not None:
        if (minor < 0) is not reading.negative and minor != 0:
            return None
        minor = abs(minor)
    reference = given["reference"] or None
    begin, end = _times(given["at"]) if given["at"] else (None, None)
    if reference is None and (minor is None or begin is None):
        raise _Bad("it has neither a reference nor an amount with a time")
    if reference is not None and any("\ud800" <= sign <= "\udfff" for sign in reference):
        raise _Bad("its reference is not Unicode text")  # half a surrogate pair, as JSON can write it: not to be stored
    return StatementLine(number, reference, minor, currency if minor is not None else None, begin, end)


def _minor(text: str, currency: str | None, reading: Reading) -> int:
    if currency is None:
        raise _Bad("its amount has no currency")
    try:
        amount = Decimal(text)
    except InvalidOperation as problem:
        raise _Bad(f"{text[:100]!r} is no amount") from problem
    # Only what has few figures is calculated with: a Decimal rounds, overflows and underflows by its context.
    if amount.is_finite() and len(amount.as_tuple().digits) <= _FIGURES and abs(amount.adjusted()) <= _FIGURES:
        minor = amount if reading.minor else amount.scaleb(digits_of(currency))
        if minor == minor.to_integral_value() and abs(minor) <= _LARGEST:
            return int(minor)
    raise _Bad(f"{text[:100]!r} is no amount of {currency}")


def _times(text: str) -> tuple[int, int]:
    """An instant, or the day where only a date is given. A time without a zone is UTC; digits alone are seconds since 1970."""
    if text.isascii() and text.isdigit() and len(text) in (10, 13):
        instant = int(text) * (1_000_000 if len(text) == 10 else 1_000)
        return instant, instant
    try:
        when = datetime.fromisoformat(text)
        when = when if when.tzinfo is not None else when.replace(tzinfo=UTC)
        instant = (when - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    except (ValueError, OverflowError) as problem:
        raise _Bad(f"{text!r} is no time") from problem
    return (instant, instant + DAY_US - 1) if len(text) == len("2026-11-29") else (instant, instant)
