"""A metric over time as the numbers of an SVG: one path for each series, a scale that ends at a round number, and hours or days."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import floor, log10
from typing import Any

from counterfoil.console.pages.words import lasting

WIDTH, HEIGHT = 600, 140
MOST_SERIES = 6
MINUTE, HOUR = 60, 3600
ROUND_SECONDS = (120, 240, 600, 1200, 1800, HOUR, *(HOUR * hours for hours in (2, 4, 8, 12, 24, 48, 96, 192, 384, 768)))
DAY, WEEK = timedelta(days=1), timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Line:
    """One series. `path` is an SVG path; `newest` its last value; `number` its colour and dash, from 1 on."""

    number: int
    label: str
    path: str
    newest: float


@dataclass(frozen=True, slots=True)
class Tick:
    """A place on an axis, in the units of the view box, and what stands there."""

    place: float
    text: str


@dataclass(frozen=True, slots=True)
class Chart:
    """What the template draws. `left_out`: series beyond the first, by their newest value."""

    lines: tuple[Line, ...]
    hours: tuple[Tick, ...]
    levels: tuple[Tick, ...]
    left_out: int


def chart(history: Mapping[str, Any], now: datetime, span: timedelta) -> Chart:
    """`history` as `desk.metrics.history` gives it. A counter is drawn as its rate per second."""
    per_second = history["kind"] == "counter"
    drawn = [(label_of(series["labels"]), _points(series["points"], per_second)) for series in history["series"]]
    drawn = sorted((each for each in drawn if each[1]), key=lambda each: -each[1][-1][1])
    shown = drawn[:MOST_SERIES]
    unit = "" if per_second else str(history["unit"])
    top = ceiling(max((value for _, points in shown for _, value in points), default=0.0), unit)
    lines = tuple(
        Line(number, label, _path(points, now, span, top), points[-1][1])
        for number, (label, points) in enumerate(shown, start=1)
    )
    levels = (Tick(HEIGHT, "0"), Tick(HEIGHT / 2, measured(top / 2, unit)), Tick(0, measured(top, unit)))
    return Chart(lines, _hours(now, span), levels, len(drawn) - len(shown))


def label_of(labels: Mapping[str, str]) -> str:
    """The labels' values: crm, create_case."""
    return ", ".join(labels.values()) or "all"


def ceiling(value: float, unit: str = "") -> float:
    """The next round number: 1, 2 or 5 times a power of ten, or a round length of time."""
    if value <= 0:
        return 1.0
    if unit == "seconds" and MINUTE < value <= ROUND_SECONDS[-1]:
        return next(float(seconds) for seconds in ROUND_SECONDS if value <= seconds)
    power = 10.0 ** floor(log10(value))
    return next(step * power for step in (1, 2, 5, 10) if value <= step * power * (1 + 1e-9))


def measured(value: float, unit: str) -> str:
    """A figure as people read its unit: a length of time in its own largest units."""
    if unit != "seconds" or value == 0:
        return figure(value)
    return (
        lasting(value * 1_000_000)
        if value >= 60
        else f"{figure(value)} s"
        if value >= 1
        else f"{figure(value * 1000)} ms"
    )


def figure(value: float) -> str:
    """A number without noise: 12, 1.5, 0.04, 1,200."""
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:,.3g}" if abs(value) < 1000 else f"{value:,.0f}"


def _points(points: Sequence[Mapping[str, Any]], per_second: bool) -> list[tuple[datetime, float]]:
    kept = [(point["at"], point["per_second" if per_second else "value"]) for point in points]
    return [
        (datetime.fromisoformat(at.replace("Z", "+00:00")), float(value)) for at, value in kept if value is not None
    ]


def _path(points: Sequence[tuple[datetime, float]], now: datetime, span: timedelta, top: float) -> str:
    """A gap of more than two of the longer steps is a gap in the line: nothing was measured then."""
    longest = timedelta(minutes=16) if span <= DAY else timedelta(minutes=45)
    parts: list[str] = []
    before: datetime | None = None
    for at, value in points:
        across = WIDTH * (1 - (now - at) / span)
        if across < 0:
            continue
        joined = before is not None and at - before <= longest
        place = f"{across:.1f} {HEIGHT * (1 - value / top):.1f}"
        # A lone point is a line of no length, which a round cap makes visible.
        parts.append(f"L{place}" if joined else f"M{place}h0")
        before = at
    return "".join(parts)


def _hours(now: datetime, span: timedelta) -> tuple[Tick, ...]:
    step, form = (timedelta(hours=6), "%H:%M") if span <= DAY else (DAY, "%a %d")
    begin = now - span
    midnight = begin.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    marks = (midnight + step * count for count in range(1, 2 + int(span / step) + 4))
    return tuple(Tick(round(WIDTH * ((at - begin) / span), 1), at.strftime(form)) for at in marks if begin < at <= now)
