"""What a batch asks of the database and what it leaves there, as plain rows of SQL values: the same for every dialect."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.model.errors import CounterfoilError
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.journal import GENESIS
from counterfoil.model.run import RunRecord
from counterfoil.store.batch import Batch
from counterfoil.store.port import Outcome, Read, Verb
from counterfoil.store.tables import BY_RECORD, Key, Values
from counterfoil.store.transaction import Transaction

RUNS = BY_RECORD[RunRecord]
_MOVED_PLACES = {name: RUNS.columns.index(name) for name in ("sequence", "head", "updated_at")}

Asked = tuple[dict[type[Any], dict[Key, None]], dict[tuple[type[Any], str], dict[str | int, None]]]
"""Keys by record, then values by record and index. Index "all" has the one value ""."""


def asked_by(reads: Iterable[Read]) -> Asked:
    """What all verbs of a batch name, together and each once."""
    keys: dict[type[Any], dict[Key, None]] = {}
    values: dict[tuple[type[Any], str], dict[str | int, None]] = {}
    for read in reads:
        if read.index == "key":
            keys.setdefault(read.table, {})[read.values] = None
        else:
            asked = values.setdefault((read.table, read.index), {})
            asked.update(dict.fromkeys(read.values or ("",)))
    return keys, values


def decide(verbs: Sequence[Verb], reads: Sequence[Sequence[Read]], batch: Batch) -> tuple[list[Outcome], list[Verb]]:
    """What became of each verb, and those that wrote something. `reads` are what each of them named."""
    outcomes: list[Outcome] = []
    wrote: list[Verb] = []
    for verb, named in zip(verbs, reads, strict=True):
        tx = Transaction(batch, named)
        try:
            value = verb.decide(tx)
            if tx.finish():
                wrote.append(verb)
        except CounterfoilError as refusal:
            outcomes.append(Outcome(error=refusal))
        else:
            outcomes.append(Outcome(value))
    return outcomes, wrote


def changed_rows(batch: Batch, record: type[Any]) -> list[tuple[Any | None, Any]]:
    """(as it was read, as it is left) of each row of a record that a verb put. None: it is new."""
    return [(before, batch.rows[record][key]) for (other, key), before in batch.before.items() if other is record]


@dataclass(frozen=True, slots=True)
class RunsLeft:
    """`alike`: by the columns that differ, their values and then the run's id. `advanced`: (sequence, head, updated_at, id)."""

    new: list[Values]
    alike: dict[tuple[str, ...], list[Values]]
    advanced: list[Values]


def runs_left(batch: Batch) -> RunsLeft:
    """Runs have long rows and many indexes: of each, only the columns that differ are written, like ones together."""
    moved = dict(batch.moved)
    new: list[Values] = []
    alike: dict[tuple[str, ...], list[Values]] = {}
    for before, after in changed_rows(batch, RunRecord):
        values = list(RUNS.values(after))
        if after.run_id in moved:
            sequence, head = moved.pop(after.run_id)
            values[_MOVED_PLACES["sequence"]] = sequence
            values[_MOVED_PLACES["head"]] = head
            values[_MOVED_PLACES["updated_at"]] = batch.now
        if before is None:
            new.append(tuple(values))
            continue
        differing = [
            (column, value)
            for column, was, value in zip(RUNS.columns, RUNS.values(before), values, strict=True)
            if was != value
        ]
        if differing:
            columns, changes = zip(*differing, strict=True)
            alike.setdefault(columns, []).append((*changes, after.run_id))
    installation = batch.installation.installation_id if batch.installation else None
    advanced = [
        (sequence, head, batch.now, run_id) for run_id, (sequence, head) in moved.items() if run_id != installation
    ]
    return RunsLeft(new, alike, advanced)


def figures_left(batch: Batch, installation: InstallationRecord, *, sends: bool) -> tuple[int, bytes, int]:
    """(batches, rolling, in_flight_batch) of the installation after this batch.

    A verb may put the installation with older figures in it: what counts is what was read with the batch.
    """
    stored = batch.before.get((InstallationRecord, (installation.installation_id,)), installation)
    batches, rolling, in_flight = (
        (stored.batches, stored.rolling, stored.in_flight_batch) if stored else (0, GENESIS, 0)
    )
    return batches + 1, batch.rolling(rolling), batches + 1 if sends else in_flight
