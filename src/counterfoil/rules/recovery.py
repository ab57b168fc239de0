"""What to do with an operation, from facts alone: every combination of facts has exactly one case of the table.

The engine, the console and the CLI ask `rule`; nobody else decides. What they need to name comes from here.
"""

from functools import lru_cache

from counterfoil.rules.recovery_cases import CASES, Case
from counterfoil.rules.recovery_conditions import COMBINATIONS, only, parts
from counterfoil.rules.recovery_facts import (
    FACTS,
    Attempt,
    Authority,
    Budget,
    Evidence,
    Facts,
    Key,
    Lookup,
    Resolution,
    Sender,
    Sent,
    Status,
    Stop,
)
from counterfoil.rules.recovery_rulings import Ask, Kind, Ruling, Until
from counterfoil.rules.recovery_words import IMPOSSIBLE, Impossibility

__all__ = [
    "CASES",
    "IMPOSSIBLE",
    "Ask",
    "Attempt",
    "Authority",
    "Budget",
    "Case",
    "Evidence",
    "Facts",
    "Impossibility",
    "Key",
    "Kind",
    "Lookup",
    "Resolution",
    "Ruling",
    "Sender",
    "Sent",
    "Status",
    "Stop",
    "Until",
    "combinations",
    "count_matches",
    "fact_values",
    "impossibilities",
    "rule",
]


@lru_cache(maxsize=4096)
def rule(facts: Facts) -> tuple[Case, Ruling]:
    """The one case that these facts fall under, and what it says to do."""
    here = only(facts)
    (case,) = [case for case in CASES if case.predicate.within(here)]
    return case, case.decide(facts)


def impossibilities(facts: Facts) -> tuple[Impossibility, ...]:
    """What is impossible about these facts; empty unless `rule` says `inconsistent`."""
    here = only(facts)
    return tuple(impossibility for impossibility in IMPOSSIBLE if impossibility.condition.within(here))


def fact_values() -> dict[str, list[str]]:
    """Every fact with its values, in order."""
    return {name: [str(value) for value in kind] for name, kind in FACTS.items()}


def combinations() -> int:
    """How many combinations of facts there are, the impossible ones included."""
    return COMBINATIONS


def count_matches() -> dict[str, int]:
    """For how many combinations each case rules, by its letter. The counts sum to `combinations()`."""
    matched = dict.fromkeys((case.letter for case in CASES), 0)
    for part in parts():
        for case in CASES:
            matched[case.letter] += case.predicate.within(part).bit_count()
    return matched
