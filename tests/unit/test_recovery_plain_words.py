"""The same table a second time, as plain nested questions over strings. Both must say the same everywhere.

It shares nothing with the table but the values of the facts. It asks one thing after another, where the table has a
condition for each case; a slip in either shows as a difference.
"""

from collections.abc import Iterator
from itertools import islice, product
from typing import NamedTuple

import pytest

from counterfoil.rules.recovery import CASES, FACTS, Authority, Facts, Lookup, Stop, combinations, rule
from counterfoil.rules.recovery_conditions import Part, any_of, parts, where

LAPSED = {"missing", "expired", "mismatched", "revoked"}
FORBIDDEN = {"rejected", "withdrawn"}


class F(NamedTuple):
    status: str
    stop: str
    authority: str
    sent: str
    attempt: str
    sender: str
    evidence: str
    key: str
    lookup: str
    resolution: str
    budget: str


def impossible(f: F) -> bool:
    is_open = f.status not in {"succeeded", "failed"}
    never, live, refusal = f.sent == "no", f.attempt == "live", f.evidence in {"refused", "partly"}
    if live and (f.status in {"prepared", "unknown", "failed"} or never or f.sender == "gone"):
        return True
    if live and f.lookup.startswith("absent"):
        return True
    if never and (f.status in {"unknown", "succeeded"} or f.sender == "gone" or f.key == "busy"):
        return True
    if f.attempt == "none" and (f.status == "in_flight" or f.key == "busy"):
        return True
    if refusal and (never or f.attempt == "none"):
        return True
    if f.stop == "restored" and is_open and (never or f.sender == "gone"):
        return True
    if f.evidence == "partly" and f.lookup == "absent_auth" and f.sender == "gone":
        return True
    return f.resolution != "none" and (
        never or live or not is_open or (f.resolution == "again_same" and f.key == "none")
    )


def expected_letter(f: F) -> str:
    if impossible(f):
        return "AA"
    if f.status in {"succeeded", "failed"}:
        return closed(f)
    seen = f.evidence == "accepted" or f.lookup in {"match", "mismatch", "several"}
    if f.lookup == "several" or (seen and f.sent == "no"):
        if f.stop != "incident":
            return "C"
        return judged(f) or "D"
    if (f.lookup == "match" and f.evidence == "refused") or f.lookup == "mismatch":
        return "F" if f.attempt == "live" else judged(f) or "G"
    if seen:
        return "E"
    if f.sent == "no":
        return never_sent(f)
    if f.attempt == "live":
        return "F"
    if f.evidence == "refused":
        return "H"
    return judged(f) or in_doubt(f)


def closed(f: F) -> str:
    against = f.lookup in {"mismatch", "several"}
    if f.status == "succeeded":
        against = against or f.evidence == "refused" or f.lookup == "absent_auth"
    else:
        against = against or f.evidence == "accepted" or f.lookup == "match"
    return "A" if against and f.stop != "incident" else "B"


def judged(f: F) -> str:
    return {"succeeded": "I", "failed": "J"}.get(f.resolution, "")


def never_sent(f: F) -> str:
    if f.authority in FORBIDDEN:
        return "K"
    if f.stop != "none":
        return "L"
    if f.budget == "spent":
        return "M"
    if f.authority in LAPSED:
        return "N"
    return "O" if f.authority == "pending" or f.budget == "not_yet" else "P"


def way(f: F) -> str:
    """The letter under which it would be sent again if everything allowed it, or nothing."""
    if f.resolution == "again_new" or (f.resolution == "again_same" and f.key == "open"):
        return "Q"
    if f.resolution != "none" or f.evidence == "partly":
        return ""
    if f.key == "open":
        return "R"
    return "S" if f.key in {"none", "closed"} and f.lookup == "absent_auth" and f.sender == "gone" else ""


def in_doubt(f: F) -> str:
    if f.resolution == "again_same" and f.key in {"closed", "unusable"}:
        return "T"
    again = way(f)
    if again and f.stop == "none" and f.budget == "left" and f.authority in {"valid", "not_needed"}:
        return again
    if f.lookup == "due":
        return "U"
    at_work = f.key == "busy" or f.lookup in {"too_early", "unreachable"}
    if at_work or f.authority == "pending" or f.budget == "not_yet":
        return "V"
    if not again:
        return "Z"
    if f.stop != "none":
        return "W"
    if f.budget == "spent":
        return "X"
    return "Y" if f.authority in LAPSED else "Z"


# Values that no case may tell apart. The first of each stands for its group.
ALIKE = [
    [Stop.HELD, Stop.SUSPENDED, Stop.PAUSED, Stop.CLOCK_JUMP, Stop.OTHER_DOUBT],
    [Authority.VALID, Authority.NOT_NEEDED],
    [Authority.EXPIRED, Authority.MISSING, Authority.MISMATCHED, Authority.REVOKED],
    [Authority.REJECTED, Authority.WITHDRAWN],
    [Lookup.TOO_EARLY, Lookup.UNREACHABLE],
]


@pytest.mark.parametrize("group", ALIKE, ids=lambda group: str(group[0]))
def test_values_of_a_group_are_alike_for_every_case(group):
    name = next(name for name, kind in FACTS.items() if kind is type(group[0]))
    first, *others = ([case.predicate.within(Part({name: value})) for case in CASES] for value in group)
    assert all(other == first for other in others)


def places(bits: int) -> Iterator[int]:
    text = bin(bits)[:1:-1]
    place = text.find("1")
    while place >= 0:
        yield place
        place = text.find("1", place + 1)


def test_every_possible_combination_up_to_alike_values_has_the_case_of_the_plain_words():
    spared = [value for group in ALIKE for value in group[1:]]
    reduced = ~any_of(*(where(value) for value in spared))
    compared = 0
    for part in parts():
        others = list(product(*(map(str, kind) for _, kind in part.free))) if reduced.within(part) else []
        first = (str(part.fixed["status"]), str(part.fixed["stop"]))
        for case in CASES[:-1]:
            for place in places((case.predicate & reduced).within(part)):
                assert expected_letter(F(*first, *others[place])) == case.letter
                compared += 1
    assert compared > 250_000


def some_combinations(step: int) -> Iterator[F]:
    """Spread over all combinations: `step` shares no factor with their number, so no fact keeps one value."""
    kinds = list(FACTS.values())
    for place in range(0, combinations(), step):
        values: list[str] = []
        rest = place
        for kind in reversed(kinds):
            rest, value = divmod(rest, len(kind))
            values.append(str(list(kind)[value]))
        yield F(*reversed(values))


def asked(f: F) -> str:
    facts = {name: kind(value) for (name, kind), value in zip(FACTS.items(), f, strict=True)}
    return rule(Facts(**facts))[0].letter  # type: ignore[arg-type]  # each value was just made of its kind


def test_rule_says_the_same_as_the_plain_words_on_combinations_from_everywhere():
    letters = [(asked(f), expected_letter(f)) for f in some_combinations(step=2311)]
    assert [pair for pair in letters if pair[0] != pair[1]] == []
    assert len(letters) > 5_000


def test_rule_says_the_same_as_the_plain_words_on_possible_combinations_from_everywhere():
    possible = islice((f for f in some_combinations(step=397) if not impossible(f)), 3_000)
    seen = {(expected_letter(f), asked(f)) for f in possible}
    assert {expected for expected, _ in seen} > set("ABCDEFGHIJKLTUVWZ")
    assert [pair for pair in seen if pair[0] != pair[1]] == []
