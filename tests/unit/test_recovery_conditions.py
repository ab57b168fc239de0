from itertools import product

import pytest

from counterfoil.rules.recovery_conditions import COMBINATIONS, Condition, Part, any_of, in_order, parts, where
from counterfoil.rules.recovery_facts import FACTS, Attempt, Budget, Key, Sent, Status, Stop

# A part small enough to be spelled out: status, sent and attempt are free, the rest is fixed.
FIXED = {name: next(iter(kind)) for name, kind in FACTS.items() if name not in {"status", "sent", "attempt"}}
SMALL = list(product(Status, Sent, Attempt))

PREPARED = where(Status.PREPARED)
OPEN = where(Status.PREPARED, Status.IN_FLIGHT, Status.UNKNOWN)
MAYBE = where(Sent.MAYBE)
LIVE = where(Attempt.LIVE)


def holding(condition: Condition) -> list[tuple[Status, Sent, Attempt]]:
    bits = condition.within(Part(FIXED))
    assert 0 <= bits < 1 << len(SMALL)
    return [values for place, values in enumerate(SMALL) if bits >> place & 1]


@pytest.mark.parametrize(
    ("condition", "meaning"),
    [
        (PREPARED, lambda status, sent, attempt: status == "prepared"),
        (OPEN, lambda status, sent, attempt: status in {"prepared", "in_flight", "unknown"}),
        (MAYBE, lambda status, sent, attempt: sent == "maybe"),
        (LIVE, lambda status, sent, attempt: attempt == "live"),
        (where(*Status), lambda status, sent, attempt: True),
        (where(Stop.NONE), lambda status, sent, attempt: True),
        (where(Stop.HELD), lambda status, sent, attempt: False),
        (OPEN & MAYBE, lambda status, sent, attempt: status not in {"succeeded", "failed"} and sent == "maybe"),
        (PREPARED | LIVE, lambda status, sent, attempt: status == "prepared" or attempt == "live"),
        (~OPEN, lambda status, sent, attempt: status in {"succeeded", "failed"}),
        (any_of(PREPARED), lambda status, sent, attempt: status == "prepared"),
        (any_of(~OPEN, MAYBE, LIVE), lambda *v: v[0] in {"succeeded", "failed"} or v[1] == "maybe" or v[2] == "live"),
        (in_order(OPEN, MAYBE, LIVE)[0], lambda *v: v[0] not in {"succeeded", "failed"}),
        (in_order(OPEN, MAYBE, LIVE)[1], lambda *v: v[0] in {"succeeded", "failed"} and v[1] == "maybe"),
        (in_order(OPEN, MAYBE, LIVE)[2], lambda *v: v[0] in {"succeeded", "failed"} and v[1:] == ("no", "live")),
    ],
)
def test_a_condition_holds_exactly_where_its_words_do(condition, meaning):
    assert holding(condition) == [values for values in SMALL if meaning(*values)]


@pytest.mark.parametrize("values", list(FACTS.items()))
def test_every_fact_can_be_asked_for_each_of_its_values(values):
    name, kind = values
    part = Part({other: next(iter(each)) for other, each in FACTS.items() if other != name})
    assert [where(value).within(part) for value in kind] == [1 << place for place in range(len(kind))]


def test_values_of_two_facts_are_refused():
    with pytest.raises(ValueError):
        where(Key.NONE, Budget.LEFT)
    with pytest.raises(ValueError):
        where()


def test_the_parts_hold_every_combination_once():
    everywhere = list(parts())
    assert sum(part.size for part in everywhere) == COMBINATIONS == 11_664_000
    assert len({tuple(part.fixed.values()) for part in everywhere}) == len(everywhere) == 40
