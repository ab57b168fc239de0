"""The ledger's rows as the explorer holds them, and real verbs deciding over them by the store's own Transaction.

This is no backend: it serves `Read` from dictionaries and forgets entries. What cannot matter is made alike (`alike`), so
that equal situations are one ledger; a verb that is asked the same twice is asked once.
"""

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.verb import RunVerb
from counterfoil.model.errors import CounterfoilError
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.batch import Batch
from counterfoil.store.port import Outcome, Read
from counterfoil.store.tables import ALL, BY_RECORD, Key
from counterfoil.store.transaction import Transaction
from counterfoil.testing.explore.alike import FENCE, fenced, plain

Rows = Mapping[type[Any], Mapping[Key, Any]]

_PLACES = {table.record: place for place, table in enumerate(ALL)}


@dataclass(frozen=True, slots=True)
class Applied:
    """What a verb did: the ledger after it, its answer or refusal, whether it wrote, and whether the run's fence rose."""

    ledger: int
    outcome: Outcome
    wrote: bool
    refenced: bool = False


class Book:
    """Every ledger that was met, by number. A number is all that a state holds of its ledger."""

    def __init__(self) -> None:
        self._ledgers: list[Rows] = []
        self._counters: list[Mapping[str, int]] = []
        self._numbers: dict[Hashable, int] = {}
        self._rows: dict[Any, int] = {}
        self._known: dict[Hashable, Applied] = {}
        self._views: dict[Hashable, Any] = {}
        self.asked = 0

    def empty(self) -> int:
        """A database that was just made."""
        return self._number({}, {})

    def rows(self, ledger: int) -> Rows:
        """Its rows by table and key."""
        return self._ledgers[ledger]

    def view(self, ledger: int, name: Hashable, make: Callable[[Rows], Any]) -> Any:
        """Something read from a ledger, read once."""
        key = (ledger, name)
        if key not in self._views:
            self._views[key] = make(self._ledgers[ledger])
        return self._views[key]

    def apply(self, ledger: int, now: int, asks: Hashable, make: Callable[[], RunVerb]) -> Applied:
        """The verb that `make` gives, decided at `now`. `asks` names the verb and everything that it was given."""
        key = (ledger, now, asks)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._decided(ledger, now, make())
        return known

    def _decided(self, ledger: int, now: int, verb: RunVerb) -> Applied:
        self.asked += 1
        rows, reads = self._ledgers[ledger], list(verb.reads())
        counters = dict(self._counters[ledger])
        batch = Batch(now, next(iter(rows.get(InstallationRecord, {}).values()), None), lambda: counters, dict)
        for read in reads:
            _load(batch, rows, read)
        tx = Transaction(batch, reads)
        try:
            value = verb.decide(tx)
            wrote = tx.finish()
        except CounterfoilError as refusal:
            return Applied(ledger, Outcome(error=refusal), wrote=False)
        if not batch.before:
            return Applied(ledger, Outcome(value), wrote)
        return self._after(ledger, batch, counters, Outcome(value), wrote=wrote)

    def _after(
        self, ledger: int, batch: Batch, counters: Mapping[str, int], outcome: Outcome, *, wrote: bool
    ) -> Applied:
        rows = dict(self._ledgers[ledger])
        for record, key in batch.before:
            rows[record] = {**rows.get(record, {}), key: plain(batch.rows[record][key], batch.now)}
        run = next(iter(rows.get(RunRecord, {}).values()), None)
        rises = run is not None and run.fence != FENCE
        if run is not None and rises:
            rows = each(rows, lambda row: fenced(row, run.fence))
        return Applied(self._number(rows, counters), outcome, wrote, rises)

    def changed(self, ledger: int, how: Hashable, change: Callable[[Rows], Rows]) -> int:
        """A ledger that something else than a verb changed: time, or the end of a process. `how` names it."""
        key = (ledger, "changed", how)
        if key not in self._views:
            self._views[key] = self._number(change(self._ledgers[ledger]), self._counters[ledger])
        return self._views[key]

    def _number(self, rows: Rows, counters: Mapping[str, int]) -> int:
        parts = sorted(
            (_PLACES[record], self._rows.setdefault(row, len(self._rows)))
            for record, members in rows.items()
            for row in members.values()
        )
        number = self._numbers.setdefault(tuple(parts), len(self._ledgers))
        if number == len(self._ledgers):
            self._ledgers.append(rows)
            self._counters.append(dict(counters))
        return number


def each(rows: Rows, change: Callable[[Any], Any]) -> Rows:
    """Every row changed."""
    return {record: {key: change(row) for key, row in members.items()} for record, members in rows.items()}


def _load(batch: Batch, rows: Rows, read: Read) -> None:
    known = rows.get(read.table, {})
    if read.index == "key":
        row = known.get(read.values)
        batch.loaded(read.table, [read.values], [] if row is None else [row])
    elif read.index == "all":
        batch.loaded_by(read.table, "all", [""], known.values())
    else:
        found = [row for row in known.values() if getattr(row, read.index) in read.values]
        found.sort(key=BY_RECORD[read.table].order_of)
        batch.loaded_by(read.table, read.index, read.values, found)
