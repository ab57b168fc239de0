"""Many things at once: selected by a filter, seen before, and each moved by its own verb. Resolving is not among them."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

from counterfoil.app.views.inbox import items_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.finish import MOVED_OTHERWISE
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.run import BUDGET_REASONS, RunState
from counterfoil.store.inbox import InboxRow

Act = Literal["lookup", "resume", "cancel", "hand-over"]
ACTS: tuple[Act, ...] = get_args(Act)
SHOWN = 50
AT_ONCE = 16
_IN_DOUBT = frozenset({"in_flight", "unknown"})
_NEEDS_MORE = BUDGET_REASONS

View = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Verbs:
    """How one thing is moved: by operation, by run, or by subject."""

    lookup: Callable[[str], Awaitable[View]]
    resume: Callable[[str], Awaitable[View]]
    cancel: Callable[[str, str], Awaitable[View]]
    hand_over: Callable[[str, str], Awaitable[View]]


@dataclass(frozen=True, slots=True)
class Selection:
    """`rows` in the order of the inbox, one for each run or operation that is moved."""

    act: Act
    rows: tuple[InboxRow, ...]
    left_out: int

    @property
    def digest(self) -> str:
        """Over what is moved and why it waits: other things, or other reasons, have another digest."""
        lines = sorted(f"{target_of(self.act, row)} {row.reason}" for row in self.rows)
        return f"sha256:{hashlib.sha256(chr(10).join([self.act, *lines]).encode()).hexdigest()}"

    def check(self, count: int, digest: str | None) -> None:
        """Raises Refused(selection_changed) when this is not what was seen."""
        if count != len(self.rows) or digest not in (None, self.digest):
            raise Refused("selection_changed", count=len(self.rows), seen=count)


def selected(act: str, rows: Iterable[InboxRow]) -> Selection:
    """Those of the rows that the act can move. Raises Refused(usage) for an act that is none."""
    if act not in ACTS:
        raise Refused("usage", problem=f"{act!r} is not done by filter; there are {', '.join(ACTS)}")
    found: dict[str, InboxRow] = {}
    left_out = 0
    for row in rows:
        if _movable(act, row):
            found.setdefault(target_of(act, row), row)
        else:
            left_out += 1
    return Selection(act, tuple(found.values()), left_out)


def target_of(act: Act, row: InboxRow) -> str:
    """What the act's verb is given."""
    match act:
        case "lookup":
            return row.operation_id or row.subject
        case "resume" | "cancel":
            return row.run_id
        case "hand-over":
            return row.subject


def preview_view(shown: Shown, selection: Selection) -> View:
    """`{act, count, left_out, digest, items}`."""
    return {
        "act": selection.act,
        "count": len(selection.rows),
        "left_out": selection.left_out,
        "digest": selection.digest,
        "items": items_view(shown, selection.rows[:SHOWN]),
    }


async def carried_out(selection: Selection, verbs: Verbs, reason: str, to: str | None) -> View:
    """Some at a time. A refusal is listed and stops nobody else."""
    places = asyncio.Semaphore(AT_ONCE)
    done: list[View] = []
    refused: list[View] = []

    async def move(row: InboxRow) -> None:
        async with places:
            try:
                after = await _move(selection.act, row, verbs, reason, to)
                done.append({"subject": row.subject, "state": after})
            except CounterfoilError as problem:
                refused.append({"subject": row.subject, "code": problem.code, "message": problem.message})

    await asyncio.gather(*(move(row) for row in selection.rows))
    return {"act": selection.act, "count": len(selection.rows), "done": done, "refused": refused}


async def _move(act: Act, row: InboxRow, verbs: Verbs, reason: str, to: str | None) -> str | None:
    """The state that the thing is in afterwards: an operation's status, a run's state, or who has it."""
    target = target_of(act, row)
    match act:
        case "lookup":
            return (await verbs.lookup(target))["status"]
        case "resume":
            return (await verbs.resume(target))["state"]
        case "cancel":
            return (await verbs.cancel(target, reason))["state"]
        case "hand-over":
            return (await verbs.hand_over(target, to or ""))["taken_by"]


def _movable(act: Act, row: InboxRow) -> bool:
    match act:
        case "lookup":
            return row.operation_status in _IN_DOUBT
        case "resume":
            parked = row.kind == "run" and row.run_state == RunState.PARKED
            return parked and row.reason not in MOVED_OTHERWISE | _NEEDS_MORE
        case "cancel":
            return not RunState(row.run_state).ended
        case "hand-over":
            return True
