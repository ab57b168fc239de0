"""From a run's timeline to a picture: where each bar stands, in per cent of the width, and on which line of its lane.

Everything is to scale. A bar that is too narrow to be seen has a mark at its begin, which is no part of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any

TITLES = {
    "waiting": "Waiting", "running": "Driven by a worker", "steps": "Steps", "decisions": "Decisions of the model",
    "attempts": "Attempts at a receiver",
}  # fmt: skip
LINE, BAR, HEAD, FOOT = 22, 16, 20, 22  # heights in pixels: a line of bars, a bar, a lane's title, the axis
MOST_LINES = 6
_STEPS_US = tuple(unit * 10**power for power in range(16) for unit in (1, 2, 5))
_CLOCK_US = tuple(s * 1_000_000 for s in (60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400, 172800, 604800))


def drawn(timeline: Mapping[str, Any]) -> dict[str, Any]:
    """`{height, lanes: [{name, title, y, bars, none}], ticks: [{x, words}], axis_y}`; a bar gains x, width (per cent) and y."""
    begins, span = int(timeline["begins_us"]), int(timeline["span_us"])
    lanes: list[dict[str, Any]] = []
    y = 0
    for lane in timeline["lanes"]:
        bars, lines = _placed(lane["bars"], begins, span, y + HEAD)
        lanes.append({"name": lane["name"], "title": TITLES[lane["name"]], "y": y + 14, "bars": bars, "top": y})
        y += HEAD + max(lines, 1) * LINE
    return {"height": y + FOOT, "lanes": lanes, "ticks": _ticks(span), "axis_y": y}


def took(us: int) -> str:
    """A length of time, exact enough to compare: 240 ms, 1.25 s, 3 min 20 s, 8 h 2 min."""
    if us < 1_000:
        return f"{us} µs"
    if us < 1_000_000:
        return f"{us / 1_000:.3g} ms"
    if us < 60_000_000:
        return f"{us / 1_000_000:.3g} s"
    minutes, seconds = divmod(us // 1_000_000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    parts = [(days, "d"), (hours, "h"), (minutes, "min"), (seconds, "s")]
    first = next(place for place, (count, _) in enumerate(parts) if count)
    return " ".join(f"{count} {unit}" for count, unit in parts[first : first + 2] if count)


def _placed(bars: Sequence[Mapping[str, Any]], begins: int, span: int, top: int) -> tuple[list[dict[str, Any]], int]:
    """Bars that overlap in time stand on lines of their own; when there are too many, the last line takes the rest."""
    free_from: list[int] = []
    placed: list[dict[str, Any]] = []
    for bar in bars:
        line = next((n for n, end in enumerate(free_from) if end <= bar["begins_us"]), len(free_from))
        line = min(line, MOST_LINES - 1)
        if line == len(free_from):
            free_from.append(0)
        free_from[line] = max(free_from[line], int(bar["ends_us"]))
        x = (bar["begins_us"] - begins) * 100 / span
        width = (bar["ends_us"] - bar["begins_us"]) * 100 / span
        words = took(bar["took_us"])
        placed.append(
            dict(bar)
            | {
                "x": f"{x:.5f}", "width": f"{width:.5f}", "y": top + line * LINE, "words": words,
                "fits": width > 4 + 0.9 * len(bar["label"]),
                "narrow": width < 5 + 2.2 * len(bar["label"]),
            }
        )  # fmt: skip
    return placed, len(free_from)


def _ticks(span: int) -> list[dict[str, str]]:
    """Four to eight marks at round times after the begin."""
    steps = (
        [step for step in _STEPS_US if step < 60_000_000]
        + list(_CLOCK_US)
        + [n * 604_800_000_000 for n in (2, 4, 8, 26, 52)]
    )
    step = next((step for step in steps if span / step <= 6), steps[-1])
    return [
        {"x": f"{at * 100 / span:.5f}", "words": "0" if at == 0 else took(at)}
        for at in range(0, span + 1, step)
        if at * 100 / span <= 94
    ]
