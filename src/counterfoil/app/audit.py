"""The noun `audit`: who did what, when, and where it stands in the chain of digests."""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from counterfoil.app.inbox_place import cursor_of, place_of
from counterfoil.app.views.audit import COLUMNS, VERBS, act_view
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.store.acts import NEWEST, ActRow

Format = Literal["jsonl", "csv"]
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_PAGE = 500
_FORMULA = tuple("=+-@\t\r")  # what a spreadsheet would carry out


@dataclass(frozen=True, slots=True)
class AuditFilter:
    """None means any. `verb` is a kind of entry, `day` YYYY-MM-DD in UTC."""

    person: str | None = None
    verb: str | None = None
    day: str | None = None


ANY = AuditFilter()


class Audit:
    """`app.audit`. The newest first, over all runs and the installation."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self, wanted: AuditFilter = ANY, *, cursor: str | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [ACT], next_cursor}`. Raises Refused(usage) for an unknown verb, another day or another cursor."""
        rows = self._rows(wanted, _before(cursor), limit + 1)
        more = _cursor(rows[limit - 1]) if len(rows) > limit else None
        return {"items": [act_view(row) for row in rows[:limit]], "next_cursor": more}

    def export(self, wanted: AuditFilter = ANY, *, as_: Format = "jsonl") -> Iterator[str]:
        """All of it, line by line with its end: JSON lines with every detail, or CSV under a line of names.

        In CSV what a spreadsheet would take for a formula gets an apostrophe before it. Raises Refused(usage).
        """
        if as_ not in ("jsonl", "csv"):
            raise Refused("usage", problem=f"there is no format {as_!r}; there are jsonl, csv")
        _bounds(wanted)
        return self._lines(wanted, as_)

    def _lines(self, wanted: AuditFilter, as_: Format) -> Iterator[str]:
        if as_ == "csv":
            yield _csv(COLUMNS)
        before = NEWEST
        while rows := self._rows(wanted, before, _PAGE):
            for row in rows:
                act = act_view(row)
                yield _csv([act[name] for name in COLUMNS]) if as_ == "csv" else compact(act) + "\n"
            before = rows[-1].entry.at, rows[-1].ordinal

    def _rows(self, wanted: AuditFilter, before: tuple[int, int], limit: int) -> Sequence[ActRow]:
        since, until = _bounds(wanted)
        with self._opened().read() as reader:
            return reader.acts.list(
                person=wanted.person, kind=wanted.verb, since=since, until=until, before=before, limit=limit
            )


def _bounds(wanted: AuditFilter) -> tuple[int, int]:
    """The first and the last microsecond that are asked for, the last excluded. Raises Refused(usage)."""
    verbs = [verb.value for verb in VERBS]
    if wanted.verb is not None and wanted.verb not in verbs:
        raise Refused("usage", problem=f"there is no verb {wanted.verb!r}; there are {', '.join(verbs)}")
    if wanted.day is None:
        return 0, NEWEST[0]
    try:
        if not re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", wanted.day):
            raise ValueError(wanted.day)
        first = (datetime.fromisoformat(wanted.day).replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
    except ValueError as problem:
        raise Refused("usage", problem=f"{wanted.day!r} is no day; write YYYY-MM-DD") from problem
    return first, first + timedelta(days=1) // timedelta(microseconds=1)


def _cursor(row: ActRow) -> str:
    return cursor_of((row.entry.at, str(row.ordinal)))


def _before(cursor: str | None) -> tuple[int, int]:
    if cursor is None:
        return NEWEST
    at, ordinal = place_of(cursor)
    if not re.fullmatch(r"[0-9]{1,18}", ordinal):
        raise Refused("usage", problem=f"{cursor!r} is no cursor of the audit")
    return at, int(ordinal)


def _csv(values: Iterable[object]) -> str:
    line = io.StringIO()
    cells = ["" if value is None else str(value) for value in values]
    csv.writer(line).writerow([f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells])
    return line.getvalue()
