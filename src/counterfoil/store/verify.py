"""Is the record what it was? Chains are recomputed, compared with the heads kept outside, and tables with the journal.

A chain proves order and content up to its head. That nothing was cut off is proven only up to the heads kept outside,
from the last park or end of each run. Somebody who rewrites entries, heads and tables alike is found there, or not.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Literal

from counterfoil.model.journal import GENESIS, Entry, chained
from counterfoil.store.folding import Rebuilt
from counterfoil.store.marker import Head
from counterfoil.store.port import Reader
from counterfoil.store.signed_answers import SignedAnswers
from counterfoil.store.tables import ALL

Problem = Literal["rewritten", "removed", "reordered", "truncated", "forged"]
HeadsOutside = Literal["matched", "missing", "differ"]


@dataclass(frozen=True, slots=True)
class Broken:
    """Where a chain is not what it was. Without a run `sequence` is the ordinal at which a whole chain is gone."""

    run_id: str | None
    sequence: int
    problem: Problem


@dataclass(frozen=True, slots=True)
class DifferentRow:
    """A table says other than the journal. `column` is `*` when a whole row was added or removed."""

    table: str
    key: str
    column: str


@dataclass(frozen=True, slots=True)
class VerifyReport:
    """What was found. `heads_outside` is missing when no head was kept outside."""

    chains: int
    entries: int
    heads_outside: HeadsOutside
    broken: tuple[Broken, ...]
    rows_compared: int
    differences: tuple[DifferentRow, ...]

    @property
    def sound(self) -> bool:
        """Nothing broken and nothing different."""
        return not self.broken and not self.differences and self.heads_outside != "differ"


@dataclass(slots=True)
class _Chain:
    sequence: int = -1
    digest: bytes = GENESIS
    entries: int = 0
    gaps: set[int] = field(default_factory=set[int])
    cut: int = 0
    at_outside_head: bytes = b""


def verify(reader: Reader, heads: Iterable[Head] = (), *, run_id: str | None = None) -> VerifyReport:
    """Read everything once; with `run_id` report on that chain and the rows it touched alone.

    `heads` are those kept outside (`OutsideMarker.heads`). Takes the memory of the evidence tables.
    """
    outside = {head.run_id: head for head in heads if run_id in (None, head.run_id)}
    broken: list[Broken] = []
    rebuilt, touched = Rebuilt(), set[tuple[str, str]]()
    chains: dict[str, _Chain] = {}
    installation = reader.installation
    signed = SignedAnswers("" if installation is None else installation.installation_id, rebuilt)
    newest = 0
    for ordinal, entry in reader.journal():
        newest = ordinal
        chain = chains.setdefault(entry.run_id, _Chain())
        broken += _check(chain, entry)
        if entry.run_id in outside and outside[entry.run_id].sequence == entry.sequence:
            chain.at_outside_head = entry.digest
        changes = _changes(entry)
        rebuilt.take(changes)
        if signed.forged(changes):
            broken.append(Broken(entry.run_id, entry.sequence, "forged"))
        if entry.run_id == run_id:
            touched.update((table, key) for table, rows in changes.items() for key in rows)
    broken += _check_ends(reader, chains, rebuilt)
    from_outside = _check_outside(outside, chains)
    broken += [problem for problem in from_outside if problem not in broken]
    if newest > sum(chain.entries + len(chain.gaps) + chain.cut for chain in chains.values()):
        broken.append(Broken(None, newest, "removed"))
    compared, differences = _compare(reader, rebuilt)
    if run_id is not None:
        chains = {run_id: chains.get(run_id, _Chain())}
        broken = [problem for problem in broken if problem.run_id == run_id]
        differences = [row for row in differences if (row.table, row.key) in touched]
        compared = len(touched)
    return VerifyReport(
        chains=len(chains),
        entries=sum(chain.entries for chain in chains.values()),
        heads_outside="missing" if not outside else "differ" if from_outside else "matched",
        broken=tuple(broken),
        rows_compared=compared,
        differences=tuple(differences),
    )


def _check(chain: _Chain, entry: Entry) -> list[Broken]:
    """One entry after the one before it. Goes on from the stored digest, so that each break is named once."""
    found: list[Broken] = []
    chain.entries += 1
    if entry.sequence <= chain.sequence:
        chain.gaps.discard(entry.sequence)
        found.append(Broken(entry.run_id, entry.sequence, "reordered"))
    elif entry.sequence > chain.sequence + 1:
        chain.gaps.update(range(chain.sequence + 1, entry.sequence))
    elif entry.digest != chained(
        chain.digest,
        entry.run_id,
        entry.sequence,
        entry.kind,
        entry.position,
        entry.name,
        entry.body,
        entry.at,
    ):
        found.append(Broken(entry.run_id, entry.sequence, "rewritten"))
    chain.sequence, chain.digest = max(entry.sequence, chain.sequence), entry.digest
    return found


def _check_ends(reader: Reader, chains: dict[str, _Chain], rebuilt: Rebuilt) -> list[Broken]:
    """Each chain must be without gaps and end where its row says."""
    found = [
        Broken(run_id, gap, "removed")
        for run_id, chain in chains.items()
        for gap in sorted(chain.gaps)
        if gap - 1 not in chain.gaps
    ]
    known: set[str] = set()
    for run_id, sequence, head in reader.chains():
        known.add(run_id)
        chain = chains.setdefault(run_id, _Chain())
        if chain.sequence < sequence:
            found.append(Broken(run_id, chain.sequence + 1, "truncated"))
            chain.cut = sequence - chain.sequence
        elif chain.sequence > sequence:
            found.append(Broken(run_id, sequence + 1, "forged"))
        elif chain.digest != head:
            found.append(Broken(run_id, sequence, "rewritten"))
    # A run whose row was deleted is named among the differences.
    lost = [run_id for run_id in chains if run_id not in known and not rebuilt.knows("runs", run_id)]
    return found + [Broken(run_id, 0, "forged") for run_id in lost]


def _check_outside(outside: dict[str, Head], chains: dict[str, _Chain]) -> list[Broken]:
    found: list[Broken] = []
    for run_id, head in outside.items():
        chain = chains.get(run_id, _Chain())
        if chain.sequence < head.sequence:
            found.append(Broken(run_id, chain.sequence + 1, "truncated"))
        elif chain.at_outside_head != head.head:
            # The chain is whole in itself, and is not the one that was there.
            found.append(Broken(run_id, head.sequence, "forged"))
    return found


def _changes(entry: Entry) -> dict[str, dict[str, dict[str, Any]]]:
    try:
        return json.loads(entry.body).get("rows", {})
    except (ValueError, AttributeError):
        return {}  # not written by us: its digest has told


def _compare(reader: Reader, rebuilt: Rebuilt) -> tuple[int, list[DifferentRow]]:
    compared = 0
    differences = [DifferentRow(*place) for place in rebuilt.unknown_tables()]
    for table in ALL:
        if not table.journaled:
            continue
        rows = list(reader.rows(table.record))
        compared += len(rows)
        differences += [DifferentRow(*place) for place in rebuilt.compare(table, iter(rows))]
    return compared, differences
