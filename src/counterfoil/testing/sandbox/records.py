"""The effects that exist at the sandbox, in memory and in a flushed file of JSON lines, one line for each."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from datetime import UTC, datetime
from json import dumps
from pathlib import Path

from counterfoil.testing.loopback.digest import as_object, parse_json
from counterfoil.testing.sandbox.writes import fields_of

_FIRST_NUMBER = 814
"""Ids look like those of a system that has lived before us."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One effect. `identity` and `status` are what the key store needs to know it again after a restart."""

    id: str
    reference: str | None
    key: str | None
    payload_digest: str
    at: str
    """RFC 3339 in UTC."""
    at_seconds: float
    method: str
    path: str
    payload: object
    form: bool
    identity: str | None
    status: int

    @property
    def place(self) -> str:
        """Where the record is found: its path and id. Ids alone are unique only when the sandbox chooses them."""
        return f"{self.path.rstrip('/')}/{self.id}"

    def shown(self) -> dict[str, object]:
        """The record as a lookup and a reply show it: the body's fields, then what the sandbox adds."""
        added = {
            "id": self.id,
            "status": "created",
            "reference": self.reference,
            "key": self.key,
            "payload": self.payload,
            "payload_digest": self.payload_digest,
            "at": self.at,
        }
        return {**fields_of(self.payload, form=self.form), **added}

    def witness(self) -> dict[str, object]:
        """The record as the control address shows it."""
        return {
            "id": self.id,
            "reference": self.reference,
            "key": self.key,
            "payload_digest": self.payload_digest,
            "at": self.at,
        }


def timestamp(seconds: float) -> str:
    """RFC 3339 in UTC, with microseconds."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


class Records:
    """All records, oldest first. A record is on the disk before `add` or `replace` returns. Not thread-safe."""

    def __init__(self, file: Path) -> None:
        """Read the records that the file already has. ValueError when a line is not a record; OSError as usual."""
        self.file = file
        self._records = {record.place: record for record in _read(file)}
        self._file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def __iter__(self) -> Iterator[Record]:
        return iter(list(self._records.values()))

    def __len__(self) -> int:
        return len(self._records)

    def get(self, place: str | None) -> Record | None:
        """The record at a place."""
        return None if place is None else self._records.get(place)

    def next_id(self, path: str) -> str:
        """An unused id after the path's last part: `/v1/cases` gives `case-814`."""
        noun = path.rstrip("/").rsplit("/", 1)[-1].removesuffix("s") or "record"
        number = _FIRST_NUMBER + len(self._records)
        while f"{path.rstrip('/')}/{noun}-{number}" in self._records:
            number += 1
        return f"{noun}-{number}"

    def add(self, record: Record) -> None:
        """Keep a new record."""
        os.write(self._file, _line(record))
        os.fsync(self._file)
        self._records[record.place] = record

    def replace(self, *changed: Record) -> None:
        """Put records over those at their places; the file still has one line for each."""
        self._records.update({record.place: record for record in changed})
        beside = self.file.with_name(self.file.name + ".new")
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.write(descriptor, b"".join(map(_line, self._records.values())))
        os.fsync(descriptor)
        os.close(descriptor)
        beside.replace(self.file)
        os.close(self._file)
        self._file = os.open(self.file, os.O_WRONLY | os.O_APPEND)

    def close(self) -> None:
        """Close the file."""
        os.close(self._file)


def _line(record: Record) -> bytes:
    return dumps(asdict(record)).encode() + b"\n"


def _read(file: Path) -> Iterator[Record]:
    content = file.read_bytes() if file.exists() else b""
    whole, _, torn = content.rpartition(b"\n")
    if torn:
        # The process was killed inside a write: that effect was never acknowledged, so it does not exist.
        os.truncate(file, len(content) - len(torn))
    names = [field.name for field in fields(Record)]
    for number, line in enumerate(whole.splitlines(), start=1):
        try:
            value: Mapping[str, object] = as_object(parse_json(line))
            yield Record(**{name: value[name] for name in names})  # pyright: ignore[reportArgumentType]
        except (ValueError, KeyError):
            raise ValueError(f"{file}, line {number}, is not a record of a sandbox") from None
