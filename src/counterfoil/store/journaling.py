"""How entries and the changes they carry are written: every change of evidence stands in the journal."""

from dataclasses import dataclass
from json import JSONEncoder
from typing import Any

from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind, chained
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


def written(data: Any) -> Written:
    """Text that can be stored. Raises TypeError, ValueError or RecursionError for what is no JSON."""
    text = _encode(data)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            text = _escaped(data)
    return Written(text)


@dataclass(slots=True)
class Draft:
    """An entry whose body is not finished: the verb that appended it may still put rows."""

    run_id: str
    sequence: int
    kind: EntryKind
    position: str | None
    name: str | None
    data: Any
    at: int

    def shown(self) -> Entry:
        """The entry as `append` gives it back: body and digest are empty, since they are not known yet."""
        return Entry(self.run_id, self.sequence, self.kind, self.position, self.name, "", self.at, b"")

    def finished(self, head: bytes, changes: Changes) -> Entry:
        """The entry as it is stored, chained to `head`. Raises Refused: unserializable when `data` is no JSON, too_large."""
        try:
            data = self.data if isinstance(self.data, Written) else written(self.data)
            body = f'{{"data":{data},"rows":{written(changes)}}}' if changes else f'{{"data":{data}}}'
        except (TypeError, ValueError, RecursionError) as problem:
            where = f"{self.kind} {self.name or self.position or ''}".strip()
            raise Refused("unserializable", where=where, problem=str(problem)) from problem
        if len(body) > ENTRY_LIMIT:  # what cannot be read back in reasonable time must not get in
            raise Refused("too_large", what=f"The entry {self.kind}", size=len(body), limit=ENTRY_LIMIT)
        digest = chained(head, self.run_id, self.sequence, self.kind, self.position, self.name, body, self.at)
        return Entry(self.run_id, self.sequence, self.kind, self.position, self.name, body, self.at, digest)


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
