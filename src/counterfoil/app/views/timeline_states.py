"""Where a run stood at each instant, read from its journal: who drove it, what it waited for, where it crashed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.timeline_bar import Bar
from counterfoil.model.codec import parsed
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord, RunState

_GAP_US = 1_000_000  # executions closer than this are one stretch


@dataclass(frozen=True, slots=True)
class _Stood:
    """A run's state from one entry on. `worker` where somebody drives it."""

    state: str
    at: int
    sequence: int
    label: str
    worker: str | None


def state_bars(run: RunRecord, entries: Sequence[Entry], end: int) -> list[Bar]:
    """Lanes waiting and running. After a crash nobody knows when the worker died: the bar says from the last entry on."""
    bars: list[Bar] = []
    stood: _Stood | None = None
    last_at = run.created_at
    for entry in entries:
        following = _state_after(run, entry, stood)
        if following is not None:
            if stood is not None:
                crashed = entry.kind is EntryKind.STARTED and bool(parsed(entry.body)["data"].get("after_crash"))
                bars += _until(stood, entry.at, last_at if crashed else None, following.worker)
            stood = following
        last_at = entry.at
    if stood is not None and stood.state not in _ENDED:
        bars += _until(stood, end, None, None, still=True)
    return bars


def stretches(running: Sequence[Bar]) -> list[tuple[int, int]]:
    """When somebody drove it, with short pauses joined: what is worth a closer look."""
    found: list[tuple[int, int]] = []
    for bar in sorted(running, key=lambda bar: bar.begins):
        if found and bar.begins - found[-1][1] <= _GAP_US:
            found[-1] = (found[-1][0], max(found[-1][1], bar.ends))
        else:
            found.append((bar.begins, bar.ends))
    return [(begins, ends) for begins, ends in found if ends > begins]


_ENDED = frozenset(state.value for state in RunState if state.ended)


def _state_after(run: RunRecord, entry: Entry, before: _Stood | None) -> _Stood | None:
    """The state that this entry put the run in, or None where it left it as it was."""
    if entry.kind is not EntryKind.STARTED and '"runs":{' not in entry.body:
        return None  # most entries: their bodies may be large, and are not read
    body: dict[str, Any] = parsed(entry.body)
    columns: dict[str, Any] = body.get("rows", {}).get("runs", {}).get(run.run_id, {})
    state = columns.get("state")
    if entry.kind is EntryKind.STARTED:
        data = body["data"]
        how = "takes over" if data.get("after_crash") else "drives it"
        return _Stood("running", entry.at, entry.sequence, f"{data['worker']} {how}", data["worker"])
    if state is None:
        return None
    said: str = columns.get("reason") or ("" if before is None else before.label)
    words = {"pending": "waits for a worker", "waiting": f"waits: {said}", "parked": f"parked: {said}"}
    return _Stood(state, entry.at, entry.sequence, words.get(state, str(state)), None)


def _until(stood: _Stood, at: int, last_seen: int | None, worker: str | None, *, still: bool = False) -> Iterator[Bar]:
    lane = "running" if stood.state == "running" else "waiting"
    if last_seen is None:
        yield Bar(
            lane=lane, kind=stood.state, label=stood.label, begins=stood.at, ends=at, sequence=stood.sequence, open=still
        )  # fmt: skip
        return
    last_seen = max(last_seen, stood.at)
    yield Bar(lane=lane, kind="running", label=stood.label, begins=stood.at, ends=last_seen, sequence=stood.sequence)
    yield Bar(
        lane=lane, kind="crashed", label=f"{stood.worker} was lost", begins=last_seen, ends=at, sequence=stood.sequence,
        about=True, detail=f"Nothing was recorded after the begin of this bar, until {worker} took over.",
    )  # fmt: skip
