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
    digests: dict[int, bytes] = field(default_factory=dict[int, bytes])
    missing: int = 0


def verify(reader: Reader, heads: Iterable[Head] = ()) -> VerifyReport:
    """Read everything once. `heads` are those kept outside (`OutsideMarker.heads`). Memory: the evidence tables."""
    outside = {head.run_id: head for head in heads}
    broken: list[Broken] = []
    rebuilt = Rebuilt()
    chains: dict[str, _Chain] = {}
    entries = newest = 0
    for newest, entry in reader.journal():
        entries += 1
        chain = chains.setdefault(entry.run_id, _Chain())
        broken += _check(chain, entry)
        if entry.run_id in outside and outside[entry.run_id].sequence == entry.sequence:
            chain.digests[entry.sequence] = entry.digest
        rebuilt.take(_changes(entry))
    broken += _check_ends(reader, chains)
    from_outside = _check_outside(outside, chains)
    broken += [problem for problem in from_outside if problem not in broken]
    explained = sum(chain.missing for chain in chains.values())
    if newest - entries > explained:
        broken.append(Broken(None, newest, "removed"))
    compared, differences = _compare(reader, rebuilt)
    return VerifyReport(
        chains=len(chains),
        entries=entries,
        heads_outside="missing" if not outside else "differ" if from_outside else "matched",
        broken=tuple(broken),
        rows_compared=compared,
        differences=tuple(differences),
    )


def _check(chain: _Chain, entry: Entry) -> list[Broken]:
    """One entry after the one before it. Goes on from the stored digest, so that each break is named once."""
    found: list[Broken] = []
    if entry.sequence <= chain.sequence:
        found.append(Broken(entry.run_id, entry.sequence, "reordered"))
    elif entry.sequence > chain.sequence + 1:
        found.append(Broken(entry.run_id, chain.sequence + 1, "removed"))
        chain.missing += entry.sequence - chain.sequence - 1
    else:
        digest = chained(
            chain.digest,
            entry.run_id,
            entry.sequence,
            entry.kind,
            entry.position,
            entry.name,
            entry.body,
            entry.at,
        )
        if digest != entry.digest:
            found.append(Broken(entry.run_id, entry.sequence, "rewritten"))
    chain.sequence, chain.digest = max(entry.sequence, chain.sequence), entry.digest
    return found


def _check_ends(reader: Reader, chains: dict[str, _Chain]) -> list[Broken]:
    """Each chain must end where its row says."""
    found: list[Broken] = []
    known: set[str] = set()
    for run_id, sequence, head in reader.chains():
        known.add(run_id)
        chain = chains.get(run_id, _Chain())
        if chain.sequence < sequence:
            found.append(Broken(run_id, chain.sequence + 1, "truncated"))
            chain.missing += sequence - chain.sequence
        elif chain.sequence > sequence:
            found.append(Broken(run_id, sequence + 1, "forged"))
        elif chain.digest != head:
            found.append(Broken(run_id, sequence, "rewritten"))
    return found + [Broken(run_id, 0, "forged") for run_id in chains if run_id not in known]


def _check_outside(outside: dict[str, Head], chains: dict[str, _Chain]) -> list[Broken]:
    found: list[Broken] = []
    for run_id, head in outside.items():
        chain = chains.get(run_id, _Chain())
        if chain.sequence < head.sequence:
            found.append(Broken(run_id, chain.sequence + 1, "truncated"))
        elif chain.digests.get(head.sequence) != head.head:
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
