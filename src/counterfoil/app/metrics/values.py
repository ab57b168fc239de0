"""What a metric is at one moment: numbers or histograms, each under its labels."""

import json
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from counterfoil.model.metrics import Metric

Labels = Mapping[str, str]
Totals = dict[tuple[str, str], float]
"""(metric, labels as JSON) -> how much. A histogram has one for each bucket, under the label `le`, and one for its sum.

What is no count (seconds, USD) is kept in whole millionths. Fractions summed up in another order differ in their last digit: a
total that another process has counted in other stretches could go back by that, and Prometheus takes it for a restart.
"""

LE, SUM, ABOVE = "le", "sum", "+Inf"
MILLIONTHS = 1_000_000


@dataclass(frozen=True, slots=True)
class Histogram:
    """`counts` of each bucket alone, the last one above every bound."""

    counts: tuple[int, ...]
    total: float

    @property
    def count(self) -> int:
        return sum(self.counts)

    def upto(self, bounds: Sequence[float]) -> list[tuple[str, int]]:
        """(bound, how many lie at or below it), as Prometheus holds it."""
        found: list[tuple[str, int]] = []
        reached = 0
        for name, count in zip((*map(bound_name, bounds), ABOVE), self.counts, strict=True):
            reached += count
            found.append((name, reached))
        return found


@dataclass(frozen=True, slots=True)
class Value:
    """One series: its labels, and what it is."""

    labels: Labels
    number: float | Histogram


@dataclass(frozen=True, slots=True)
class Reading:
    """One metric with all its series."""

    metric: Metric
    values: tuple[Value, ...]


def key_of(labels: Labels) -> str:
    """Labels as they are stored."""
    return json.dumps(dict(labels), sort_keys=True, separators=(",", ":"))


def bound_name(bound: float) -> str:
    return f"{bound:g}"


def add(totals: Totals, metric: Metric, amount: float = 1, **labels: str) -> None:
    """Count."""
    where = (metric.name, key_of(labels))
    totals[where] = totals.get(where, 0.0) + amount


def observe(totals: Totals, metric: Metric, value: float, **labels: str) -> None:
    """One more in its bucket, and in the sum."""
    place = bisect_left(metric.bounds, value)
    bucket = bound_name(metric.bounds[place]) if place < len(metric.bounds) else ABOVE
    add(totals, metric, 1, **labels, le=bucket)
    add(totals, metric, round(value * MILLIONTHS), **labels, le=SUM)


def values_of(totals: Totals, metric: Metric) -> list[Value]:
    """The series of a metric that was counted, in the order of their labels."""
    found = sorted((text, amount) for (name, text), amount in totals.items() if name == metric.name)
    labelled: list[tuple[dict[str, str], float]] = [(json.loads(text), amount) for text, amount in found]
    if not metric.bounds:
        whole = MILLIONTHS if metric.unit == "USD" else 1
        return [Value(labels, amount / whole) for labels, amount in labelled]
    parts: dict[str, dict[str, float]] = {}
    for labels, amount in labelled:
        le = labels.pop(LE)
        parts.setdefault(key_of(labels), {})[le] = amount
    names = (*map(bound_name, metric.bounds), ABOVE)
    return [
        Value(
            json.loads(text),
            Histogram(tuple(int(part.get(name, 0)) for name in names), part.get(SUM, 0.0) / MILLIONTHS),
        )
        for text, part in parts.items()
    ]
