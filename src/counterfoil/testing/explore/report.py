"""Explore kinds beside each other, and say what was found."""

import multiprocessing
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any

from counterfoil.model.errors import Refused
from counterfoil.testing.explore.invariants import INVARIANTS
from counterfoil.testing.explore.kinds import KINDS
from counterfoil.testing.explore.person import WRONG_WORD
from counterfoil.testing.explore.search import Bounds, Found, Search
from counterfoil.testing.explore.sources import source_digest
from counterfoil.testing.explore.state import Step
from counterfoil.testing.explore.world import CONTRACT_BROKEN, FROZEN, UNRECOGNISED
from counterfoil.testing.guards import GUARDS, remove

RESIDUE: dict[str, str] = {
    FROZEN: "A sender stood between its last check and the system call for longer than the receiver's own protection lasts.",
    WRONG_WORD: "A person said what was not so, or what nobody could know yet.",
    UNRECOGNISED: "A backup was put back together with the outside marker, and nobody announced it.",
    CONTRACT_BROKEN: "A receiver did not keep its contract.",
}
"""What the design leaves open. A broken state counts as residue only where one of these has happened in its story."""


def explore(
    kinds: Sequence[str] = (), bounds: Bounds | None = None, *, without: str | None = None, processes: int = 2
) -> dict[str, Any]:
    """Explore these kinds, all without a name, each in a process of its own. The data of `counterfoil explore`.

    `without`: a guard to take away first; then a kind ends at its first violation. Raises Refused(usage, not_found).
    """
    bounds, names = bounds or Bounds(), tuple(kinds) or tuple(KINDS)
    for name in names:
        if name not in KINDS:
            raise Refused("usage", problem=f"there is no kind {name!r}; there are: {', '.join(KINDS)}")
    if without is not None and without not in GUARDS:
        raise Refused("not_found", what="guard", id=without)
    context = multiprocessing.get_context("spawn")  # the guard is taken away there, and here nothing changes
    with ProcessPoolExecutor(min(processes, len(names)), context, _begin, (without,)) as pool:
        found = list(pool.map(_explored, names, [bounds] * len(names), [without is not None] * len(names)))
    return {"source_digest": source_digest(), "without": without, "bounds": _limits(bounds), "kinds": found}


def _begin(without: str | None) -> None:
    if without is not None:
        remove(without)


def _explored(kind: str, bounds: Bounds, until_broken: bool) -> dict[str, Any]:
    return told(Search(kind, bounds).run(until_broken=until_broken))


def _limits(bounds: Bounds) -> dict[str, int]:
    return {name: getattr(bounds, name) for name in bounds.__dataclass_fields__}


def told(found: Found) -> dict[str, Any]:
    """One kind of the answer, as JSON."""
    return {
        "kind": found.kind,
        "states": found.states,
        "transitions": found.transitions,
        "depth": found.depth,
        "complete": found.complete,
        "boundaries_crashed": sorted(found.boundaries_crashed),
        "cases_hit": sorted(found.cases_hit, key=lambda letter: (len(letter), letter)),
        "residue": [
            {
                "residue": list(names),
                "sentence": " ".join(RESIDUE[name] for name in names),
                "invariant": invariant,
                "states": found.residue_states[names],
                "story": _lines(story),
            }
            for names, (invariant, story) in sorted(found.residue.items())
        ],
        "violations": [
            {"invariant": name, "sentence": INVARIANTS[name], "receiver_records": records, "story": _lines(story)}
            for name, (records, story) in sorted(found.violations.items())
        ],
    }


def _lines(story: Sequence[Step]) -> list[dict[str, str | None]]:
    return [step._asdict() for step in story]
