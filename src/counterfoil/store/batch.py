"""The rows of one batch: as they were read, then as the verbs so far have left them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from counterfoil.model.installation import InstallationRecord
from counterfoil.model.journal import GENESIS, Entry
from counterfoil.model.run import RunRecord
from counterfoil.store.records import changed
from counterfoil.store.tables import BY_RECORD, Key

Chain = tuple[int, bytes]
"""(sequence, head) of the newest entry; (-1, GENESIS) before the first."""

EMPTY_CHAIN: Chain = (-1, GENESIS)


@dataclass(slots=True)
class Batch:
    """`now` in microseconds. A row of None was looked for and is not there."""

    now: int
    installation: InstallationRecord | None
    read_counters: Callable[[], dict[str, int]]  # asked once, and only by a batch that needs them
    read_chains: Callable[[], dict[str, Chain]]  # the chains that are no run's; likewise
    rows: dict[type[Any], dict[Key, Any | None]] = field(default_factory=dict[type[Any], dict[Key, Any]])
    members: dict[tuple[type[Any], str], dict[str | int, dict[Key, None]]] = field(
        default_factory=dict[tuple[type[Any], str], dict[str | int, dict[Key, None]]]
    )
    entries: list[Entry] = field(default_factory=list[Entry])
    moved: dict[str, Chain] = field(default_factory=dict[str, Chain])  # chains that got entries in this batch
    before: dict[tuple[type[Any], Key], Any | None] = field(default_factory=dict[tuple[type[Any], Key], Any])
    dropped: dict[tuple[type[Any], Key], None] = field(default_factory=dict[tuple[type[Any], Key], None])
    counted: bool = False
    _counters: dict[str, int] | None = None
    _other_chains: dict[str, Chain] | None = None

    def __post_init__(self) -> None:
        if self.installation is not None:
            self.rows[InstallationRecord] = {(self.installation.installation_id,): self.installation}

    # ------------------------------------------------------------------ what was read

    def loaded(self, table: type[Any], keys: Iterable[Key], rows: Iterable[Any]) -> None:
        """Rows read by key; `keys` are all that were asked for."""
        known = self.rows.setdefault(table, {})
        key_of = BY_RECORD[table].key_of
        for row in rows:
            known.setdefault(key_of(row), row)
        for key in keys:
            known.setdefault(key, None)

    def loaded_by(self, table: type[Any], index: str, values: Iterable[str | int], rows: Iterable[Any]) -> None:
        """Rows read through an index; `values` are all that were asked for. Index "all" has the one value ""."""
        known = self.rows.setdefault(table, {})
        members = self.members.setdefault((table, index), {})
        for value in values:
            members.setdefault(value, {})
        key_of = BY_RECORD[table].key_of
        for row in rows:
            key = key_of(row)
            known.setdefault(key, row)
            members["" if index == "all" else getattr(row, index)][key] = None

    # ------------------------------------------------------------------ what a verb sees

    def row(self, table: type[Any], key: Key) -> Any | None:
        """The row as the verbs so far have left it."""
        row = self.rows.get(table, {}).get(key)
        if table is RunRecord and row is not None and row.run_id in self.moved:
            sequence, head = self.moved[row.run_id]
            if row.sequence != sequence:
                row = changed(row, sequence=sequence, head=head, updated_at=self.now)
        return row

    def chain(self, run_id: str) -> Chain:
        """Where the chain of a run, or of the installation, stands. Its run must have been read or put."""
        if run_id in self.moved:
            return self.moved[run_id]
        run = self.rows.get(RunRecord, {}).get((run_id,))
        if run is not None:
            return run.sequence, run.head
        if self._other_chains is None:
            self._other_chains = self.read_chains()
        return self._other_chains.get(run_id, EMPTY_CHAIN)

    def counters(self) -> dict[str, int]:
        """The numbers that people see, as the verbs so far have left them."""
        if self._counters is None:
            self._counters = self.read_counters()
        return self._counters

    # ------------------------------------------------------------------ what a verb leaves

    def keep(self, table: type[Any], key: Key, row: Any) -> bool:
        """Take a verb's row, which was not refused. False if it is as it was."""
        known = self.rows.setdefault(table, {})
        before = known.get(key)
        if table is RunRecord:
            # Where the chain stands is not the verb's to say.
            sequence, head = self.chain(row.run_id)
            if row.sequence != sequence or row.head != head:
                row = changed(row, sequence=sequence, head=head)
        if row == before:
            return False
        self.before.setdefault((table, key), before)
        known[key] = row
        if table is InstallationRecord:
            self.installation = row
        for (other, index), members in self.members.items():
            if other is table:
                value = "" if index == "all" else getattr(row, index)
                if value in members:
                    members[value][key] = None
        return True

    def drop(self, table: type[Any], key: Key) -> None:
        """Take a verb's deletion of a row that is no evidence."""
        self.rows.setdefault(table, {})[key] = None
        self.before.pop((table, key), None)
        self.dropped[(table, key)] = None

    def extend(self, entries: list[Entry]) -> None:
        """Take a verb's finished entries."""
        self.entries += entries
        for entry in entries:
            self.moved[entry.run_id] = (entry.sequence, entry.digest)

    @property
    def wrote(self) -> bool:
        """Whether any verb left something to store."""
        return bool(self.entries or self.before or self.counted or self.dropped)

    def rolling(self, before: bytes) -> bytes:
        """The rolling digest after this batch: over the one before it and the digests of the batch's entries."""
        return sha256(b"".join((before, *(entry.digest for entry in self.entries)))).digest()
