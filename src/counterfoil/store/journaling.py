"""How entries and the changes they carry are written: every change of evidence stands in the journal."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from json import JSONEncoder
from typing import Any, cast

from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, chained
from counterfoil.store.records import finish
from counterfoil.store.tables import Table, joined, plain

Changes = dict[str, dict[str, dict[str, Any]]]
"""table -> key -> column -> new value"""

_encode = JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode
_escaped = JSONEncoder(
    separators=(",", ":"), allow_nan=False
).encode  # for half a character, which JSON can hold and UTF-8 not


class Written(str):
    """Data of an entry that is JSON text already: it is not written a second time."""

    __slots__ = ()


ENTRY_LIMIT = 1024 * 1024  # bytes of one entry; bodies have smaller limits of their own


# What most inputs of steps are. An encoder is made anew for each value, which costs more than such a value.
_SIMPLE: dict[type[Any], Callable[[Any], str]] = {str: _encode, int: int.__repr__, type(None): lambda _: "null"}


def written(data: Any) -> Written:
    """Text that can be stored. Raises TypeError, ValueError or RecursionError for what is no JSON."""
    return _storable(_text(data), data)


def written_list(values: Sequence[Any]) -> Written:
    """As `written`, of these values as one list."""
    return _storable(f"[{','.join([_text(each) for each in values])}]", list(values))


def _text(data: Any) -> str:
    return _SIMPLE.get(cast("type[Any]", type(data)), _encode)(data)


def _storable(text: str, data: Any) -> Written:
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _escaped(data)
    return Written(text)


@dataclass(slots=True)
class Draft:
    """An entry whose body and digest are empty, since they are not known yet: its verb may still put rows."""

    entry: Entry
    data: Any

    def finished(self, head: bytes, changes: Changes) -> Entry:
        """The very entry, as stored: chained to `head`. Raises Refused: unserializable when `data` is no JSON, too_large."""
        entry = self.entry
        try:
            data = self.data if isinstance(self.data, Written) else written(self.data)
            body = f'{{"data":{data},"rows":{written(changes)}}}' if changes else f'{{"data":{data}}}'
        except (TypeError, ValueError, RecursionError) as problem:
            where = f"{entry.kind} {entry.name or entry.position or ''}".strip()
            raise Refused("unserializable", where=where, problem=str(problem)) from problem
        if len(body) > ENTRY_LIMIT:  # what cannot be read back in reasonable time must not get in
            raise Refused("too_large", what=f"The entry {entry.kind}", size=len(body), limit=ENTRY_LIMIT)
        digest = chained(head, entry.run_id, entry.sequence, entry.kind, entry.position, entry.name, body, entry.at)
        finish(entry, body, digest)
        return entry


def changed_columns(table: Table, before: Any | None, after: Any) -> dict[str, Any]:
    """The evidence that differs, by column. A new row names every column that is not NULL."""
    new = table.evidence_of(after)
    if before is None:
        return {column: plain(value) for column, value in zip(table.journaled, new, strict=True) if value is not None}
    old = table.evidence_of(before)
    if old == new:
        return {}
    return {column: plain(value) for column, was, value in zip(table.journaled, old, new, strict=True) if was != value}


def add_change(changes: Changes, table: Table, before: Any | None, after: Any) -> None:
    """Note what `after` changes in the evidence, if anything."""
    columns = changed_columns(table, before, after)
    if columns:
        changes.setdefault(table.name, {})[joined(table.key_of(after))] = columns
