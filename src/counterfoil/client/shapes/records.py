"""What the installation says about itself: who did what, and its metrics."""

from typing import Any

from pydantic import Field

from counterfoil.client.shapes.base import Shape


class ActDone(Shape):
    """What one person did, with its digest and its place in the chain."""

    at: str
    person: str | None
    verb: str
    what: str
    subject: str
    run_id: str
    sequence: int
    ordinal: int
    digest: str
    details: dict[str, Any]


class Bucket(Shape):
    """How many were at most so much, cumulative. `upto` null: all."""

    upto: float | str | None
    count: int


class HistogramSeen(Shape):
    """A distribution."""

    count: int
    sum: float
    buckets: list[Bucket]


class MetricValue(Shape):
    """One value. Of a histogram `value` is null."""

    labels: dict[str, str]
    value: float | None
    histogram: HistogramSeen | None


class Metric(Shape):
    """A metric as it is defined, and as it is now."""

    name: str
    kind: str
    unit: str | None
    labels: list[str]
    of: str
    definition: str
    does_not_count: str | None
    values: list[MetricValue]


class Point(Shape):
    """One sample. `per_second`: a counter's mean rate since the point before."""

    at: str
    value: float
    per_second: float | None


class Series(Shape):
    """One set of labels over time."""

    labels: dict[str, str]
    points: list[Point]


class History(Shape):
    """One metric over time."""

    name: str
    kind: str
    unit: str | None
    since: str = Field(description="From when on.")
    series: list[Series]
