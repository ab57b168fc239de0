"""What a verb sees of the database: plain rows, no SQL. Its writes are kept together, or not at all."""

from collections.abc import Iterable
from itertools import islice
from typing import Any, TypeVar, cast

from counterfoil.model.errors import Refused
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.batch import Batch
from counterfoil.store.journaling import Changes, Draft, add_change
from counterfoil.store.port import Part, Read
from counterfoil.store.records import begun
from counterfoil.store.tables import BY_RECORD, Key

T = TypeVar("T")

_WHAT = {  # how a record is called where a person reads that it is missing
    "runs": "run",
    "operations": "operation",
    "attempts": "attempt",
    "receipts": "receipt",
    "lookups": "lookup",
    "proposals": "proposal",
    "reviews": "review",
    "answers": "answer",
    "people": "person",
    "incidents": "incident",
    "suspensions": "suspension",
    "drills": "drill",
    "waivers": "waiver",
    "budgets": "budget",
    "workers": "worker",
    "business_keys": "business key",
    "contracts": "contract",
    "messages": "message",
    "documents": "document",
    "signals": "signal",
    "conversations": "conversation",
    "turns": "turn",
    "typed_documents": "document",
    "document_versions": "version",
    "installation": "installation",
    "slots": "slot",
    "taps": "tap",
    "deliveries": "delivery",
    "sweeps": "sweep",
}


class Transaction:
    """One verb's view. `now` is the batch's one reading of the clock, in microseconds; it never goes back.

    Looking at what `Verb.reads` did not name is an AssertionError, and so is changing evidence without an entry.
    """

    def __init__(self, batch: Batch, reads: Iterable[Read]) -> None:
        self.now = batch.now
        self._batch = batch
        self._keys: set[tuple[type[Any], Key]] = set()
        self._named: set[tuple[type[Any], str, Part]] = set()
        for read in reads:
            if read.index == "key":
                self._keys.add((read.table, read.values))
            elif read.index == "all":
                self._named.add((read.table, "all", ""))
            else:
                self._named.update((read.table, read.index, value) for value in read.values)
        self._put: dict[tuple[type[Any], Key], Any] = {}
        self._dropped: list[tuple[type[Any], Key]] = []
        self._drafts: list[Draft] = []
        self._sequences: dict[str, int] = {}
        self._counters: dict[str, int] = {}
        self._sealed: dict[
            tuple[type[Any], Key], int
        ] = {}  # rows whose changes an earlier entry carries, and which one

    # ------------------------------------------------------------------ looking

    @property
    def installation(self) -> InstallationRecord:
        """The installation; always there to look at. Raises Refused(not_found) in a database that has none yet."""
        put = self._put.values() if self._put else ()
        found = next((row for row in put if isinstance(row, InstallationRecord)), self._batch.installation)
        if found is None:
            raise Refused("not_found", what="installation", id="here")
        return found

    def get(self, table: type[T], *key: Part) -> T | None:
        """The row with this primary key, or None."""
        where = (table, key)
        if where in self._put:
            return cast("T", self._put[where])
        row = self._batch.row(table, key)
        assert where in self._keys or self._reached(table, row), f"reads() did not name {table.__name__} {key}"
        return cast("T | None", row)

    def must(self, table: type[T], *key: Part) -> T:
        """The row with this primary key. Raises Refused(not_found)."""
        row = self.get(table, *key)
        if row is None:
            raise Refused("not_found", what=_WHAT[BY_RECORD[table].name], id=" ".join(map(str, key)))
        return row

    def find(self, table: type[T], index: str, value: Part) -> list[T]:
        """The rows whose column `index` holds `value`, in the table's order, those of earlier verbs included."""
        assert (table, index, value) in self._named, f"reads() did not name {table.__name__} by {index} {value}"
        return self._matching(table, index, value)

    def all(self, table: type[T]) -> list[T]:
        """Every row, in the table's order. `reads` named it with `Read.all`."""
        assert (table, "all", "") in self._named, f"reads() did not name all of {table.__name__}"
        return self._matching(table, "all", "")

    def _reached(self, table: type[Any], row: Any | None) -> bool:
        """Whether a row is one that this verb named through an index, or the installation."""
        if row is None:
            return False
        return table is InstallationRecord or any(
            named is table and (index == "all" or getattr(row, index) == value) for named, index, value in self._named
        )

    def _matching(self, table: type[T], index: str, value: Part) -> list[T]:
        keys = dict(self._batch.members.get((table, index), {}).get(value, {}))
        keys.update((key, None) for (other, key) in self._put if other is table)
        rows: list[T] = []
        for key in keys:
            row = self._put.get((table, key)) or self._batch.row(table, key)
            if row is not None and (index == "all" or getattr(row, index) == value):
                rows.append(row)
        return sorted(rows, key=BY_RECORD[table].order_of) if len(rows) > 1 else rows

    # ------------------------------------------------------------------ writing

    def put(self, row: Any) -> None:
        """Store this row, new or changed. A run's sequence, head and (with an entry) updated_at are not the caller's."""
        table = BY_RECORD[type(row)]
        key = table.key_of(row)
        where = (table.record, key)
        assert table.name != "entries", "entries are appended"
        assert where not in self._sealed, f"{table.name} {key} was sealed"
        if where not in self._keys and where not in self._put:
            before = self._batch.row(table.record, key)
            assert before is None or self._reached(table.record, before), f"reads() did not name {table.name} {key}"
        self._put[where] = row

    def drop(self, table: type[Any], *key: Part) -> None:
        """Delete a row, there or not. Only of tables that are no evidence: those never lose one."""
        assert not BY_RECORD[table].journaled, f"{table.__name__} is evidence"
        self._put.pop((table, key), None)
        self._dropped.append((table, key))

    def append(
        self,
        run_id: str,
        kind: EntryKind,
        *,
        position: str | None = None,
        name: str | None = None,
        data: Any = None,
    ) -> Entry:
        """The next entry of a run's chain, or of the installation's. `data` is JSON, or `Written` as its text.

        What is given back has no body and digest yet; it gets them once the verb has decided.
        """
        sequence = self._next_sequence(run_id)
        entry = begun(run_id, sequence, kind, position, name, self.now)
        self._drafts.append(Draft(entry, data))
        self._sequences[run_id] = sequence
        return entry

    def seal(self) -> None:
        """What was put so far is carried by the newest entry, and not put again. An entry has a largest size, a verb has none."""
        newest = len(self._drafts) - 1
        assert newest >= 0, "there is no entry to carry it"
        for where in islice(self._put, len(self._sealed), None):  # in the order in which they were put
            self._sealed[where] = newest

    def number(self, what: str) -> int:
        """The next number of a counter (run, operation, review, incident), from 1."""
        self._counters[what] = self._counters.get(what, self._batch.counters().get(what, 0)) + 1
        return self._counters[what]

    def _next_sequence(self, run_id: str) -> int:
        if run_id in self._sequences:
            return self._sequences[run_id] + 1
        where = (RunRecord, (run_id,))
        named = where in self._keys and self._batch.rows[RunRecord].get((run_id,)) is not None  # as in every step
        if not named and where not in self._put and run_id not in self._batch.moved:
            installation = self._batch.installation
            known = installation is not None and installation.installation_id == run_id
            if not known and (InstallationRecord, (run_id,)) not in self._put:
                assert self.get(RunRecord, run_id) is not None, f"append to {run_id}, which was neither read nor put"
        return self._batch.chain(run_id)[0] + 1

    # ------------------------------------------------------------------ the end, called by the database

    def finish(self) -> bool:
        """Chain the entries, with the changes in the last or where they were sealed, and hand all to the batch. True if it left anything.

        Until its last line nothing of the batch has changed, so a refusal from here drops only this verb.
        """
        batch = self._batch
        if len(self._drafts) == 1 and not self._put and not self._counters and not self._dropped:
            return self._finish_step()
        last = len(self._drafts) - 1
        carried: dict[int, Changes] = {}
        for (record, key), row in self._put.items():
            changes = carried.setdefault(self._sealed.get((record, key), last), Changes())
            add_change(changes, BY_RECORD[record], batch.rows.get(record, {}).get(key), row)
        assert self._drafts or not any(carried.values()), f"evidence changed without an entry: {carried}"
        entries: list[Entry] = []
        heads: dict[str, bytes] = {}
        for place, draft in enumerate(self._drafts):
            run_id = draft.entry.run_id
            head = heads.get(run_id) or batch.chain(run_id)[1]
            entry = draft.finished(head, carried.get(place, {}))
            heads[run_id] = entry.digest
            entries.append(entry)
        kept = [batch.keep(record, key, row) for (record, key), row in self._put.items()]
        batch.extend(entries)
        if self._counters:
            batch.counters().update(self._counters)
            batch.counted = True
        for record, key in self._dropped:
            batch.drop(record, key)
        return bool(entries or self._counters or self._dropped) or any(kept)

    def _finish_step(self) -> bool:
        """One entry and nothing else, as most verbs leave."""
        (draft,) = self._drafts
        self._batch.extend([draft.finished(self._batch.chain(draft.entry.run_id)[1], {})])
        return True
