"""A run's execution in time: lanes of bars with exact begins and ends, as the waterfall draws them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.timeline_bar import Bar
from counterfoil.app.views.timeline_calls import decision_bars, step_bars
from counterfoil.app.views.timeline_states import state_bars, stretches
from counterfoil.model.journal import Entry
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.situation import is_closed, is_live

LANES = ("waiting", "running", "steps", "decisions", "attempts")
MOST_BARS = 200  # in one lane; beyond that neighbours are drawn as one, with their count


@dataclass(frozen=True, slots=True)
class Window:
    """The part of a run's time that is shown, in microseconds."""

    begins: int
    ends: int


def timeline_view(
    run: RunRecord,
    entries: Sequence[Entry],
    attempts: Sequence[AttemptRecord],
    operations: Sequence[OperationRecord],
    now: int,
    window: Window | None = None,
) -> dict[str, Any]:
    """`{begins_at, ends_at, begins_us, span_us, open, whole: {begins_us, ends_us}, stretches, lanes: [{name, bars}]}`.

    A bar is `{lane, kind, label, detail, begins_us, ends_us, took_us, begins_at, ends_at, open, about, count, sequence,
    operation, cost_usd}`; `about` says that its begin is not recorded, and lies at the latest known instant before it.
    Bars are cut to the window; `took_us` is the whole time.
    """
    ends = max([now if not run.state.ended else run.created_at, *(entry.at for entry in entries), run.created_at])
    whole = Window(run.created_at, max(ends, run.created_at + 1))
    shown = whole if window is None else _inside(window, whole)
    bars = [
        *state_bars(run, entries, whole.ends),
        *step_bars(entries),
        *decision_bars(entries, whole.ends),
        *_attempt_bars(attempts, operations, whole.ends, now),
    ]
    lanes = {name: [bar for bar in bars if bar.lane == name] for name in LANES}
    return {
        "begins_at": rfc3339(shown.begins),
        "ends_at": rfc3339(shown.ends),
        "begins_us": shown.begins,
        "span_us": shown.ends - shown.begins,
        "open": not run.state.ended,
        "whole": {"begins_us": whole.begins, "ends_us": whole.ends},
        "stretches": [
            {"begins_us": begins, "ends_us": ends, "took_us": ends - begins}
            for begins, ends in stretches(lanes["running"])
        ],
        "lanes": [{"name": name, "bars": _shown(lanes[name], shown)} for name in LANES],
    }


def _inside(window: Window, whole: Window) -> Window:
    """Never outside of the run, and never empty."""
    begins = min(max(window.begins, whole.begins), whole.ends - 1)
    return Window(begins, max(min(window.ends, whole.ends), begins + 1))


def _shown(bars: Sequence[Bar], window: Window) -> list[dict[str, Any]]:
    seen = [bar for bar in bars if bar.ends >= window.begins and bar.begins <= window.ends]
    return [bar.view(window.begins, window.ends) for bar in _joined(sorted(seen, key=lambda bar: bar.begins))]


def _joined(bars: list[Bar]) -> list[Bar]:
    """At most `MOST_BARS`: neighbours in time become one bar that says how many it stands for."""
    if len(bars) <= MOST_BARS:
        return bars
    size = -(-len(bars) // MOST_BARS)
    groups = [bars[start : start + size] for start in range(0, len(bars), size)]
    return [_one(group) for group in groups]


def _one(group: list[Bar]) -> Bar:
    first = group[0]
    worst = next((bar.kind for bar in group if bar.kind in ("crashed", "failed", "lost", "unknown")), first.kind)
    costs = [bar.cost_micros for bar in group if bar.cost_micros is not None]
    return replace(
        first,
        kind=worst,
        label=f"{len(group)} from {first.label}",
        detail=f"{len(group)} bars drawn as one; look closer to see each",
        ends=max(bar.ends for bar in group),
        count=len(group),
        open=any(bar.open for bar in group),
        cost_micros=sum(costs) if costs else None,
    )


def _attempt_bars(
    attempts: Sequence[AttemptRecord], operations: Sequence[OperationRecord], end: int, now: int
) -> list[Bar]:
    numbers = {operation.operation_id: operation for operation in operations}
    return list(chain.from_iterable(_attempt(attempt, numbers, end, now) for attempt in attempts))


def _attempt(attempt: AttemptRecord, operations: dict[str, OperationRecord], end: int, now: int) -> list[Bar]:
    operation = operations.get(attempt.operation_id)
    name = "attempt" if operation is None else f"op-{operation.number} {operation.name}"
    over = attempt.ended_at or attempt.answer_at or attempt.sender_gone_at
    live = is_live(attempt, now)
    if over is None:
        over = end if live else min(attempt.deadline_at, end)
    if attempt.answer_class == "applied":
        kind = "done"
    elif is_closed(attempt):
        kind = "failed"
    else:
        kind = "live" if live else "unknown"
    answer = "no answer recorded" if attempt.answer_class is None else f"answer: {attempt.answer_class}"
    status = "" if attempt.answer_status is None else f" ({attempt.answer_status})"
    gone = "; its sender was found gone" if attempt.sender_gone_at and attempt.ended_at is None else ""
    return [
        Bar(
            lane="attempts", kind=kind, label=f"{name}, attempt {attempt.n}", begins=attempt.started_at,
            ends=max(over, attempt.started_at), detail=f"{answer}{status}{gone}", open=live,
            operation=None if operation is None else operation.number,
        )
    ]  # fmt: skip
