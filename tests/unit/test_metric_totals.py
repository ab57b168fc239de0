"""A total is the same in whatever stretches it was counted: it never goes back, which would read as a restart."""

import random

from counterfoil.app.metrics.values import Histogram, Totals, add, observe, values_of
from counterfoil.model.metrics import BUDGET_SPENT, RECOVERY_DURATION


def in_stretches(cuts: list[int], seconds: list[float]) -> Totals:
    """Each stretch counted alone and added to what is stored, as `KeepTallies` does."""
    stored: Totals = {}
    for begin, end in zip([0, *cuts], [*cuts, len(seconds)], strict=True):
        counted: Totals = {}
        for value in seconds[begin:end]:
            observe(counted, RECOVERY_DURATION, value, cause="crash")
        for where, amount in counted.items():
            stored[where] = stored.get(where, 0.0) + amount
    return stored


def test_a_sum_does_not_depend_on_who_counted_which_part() -> None:
    chance = random.Random(7)
    seconds = [chance.randrange(10**9) / 1_000_000 for _ in range(200)]
    sums: set[float] = set()
    for _ in range(200):
        cuts = sorted(chance.sample(range(1, 200), chance.randrange(1, 20)))
        (value,) = values_of(in_stretches(cuts, seconds), RECOVERY_DURATION)
        assert isinstance(value.number, Histogram)
        assert value.number.count == 200
        sums.add(value.number.total)
    assert len(sums) == 1
    assert abs(sums.pop() - sum(seconds)) < 1e-6


def test_what_was_spent_is_shown_in_dollars() -> None:
    totals: Totals = {}
    for _ in range(3):
        add(totals, BUDGET_SPENT, 100_000, decision="draft")
    (value,) = values_of(totals, BUDGET_SPENT)
    assert value.number == 0.3
