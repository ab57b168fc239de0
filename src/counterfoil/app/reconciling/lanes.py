"""Every receiver in a lane of its own, at a bounded rate; what is counted is what came of each operation."""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from counterfoil import settings
from counterfoil.app.reconciling.adopting import adopt
from counterfoil.app.reconciling.one import NOT_ASKABLE, Came, reconciled
from counterfoil.app.views.restore import restore_view
from counterfoil.engine.left_open import open_pages
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.slots import TapRecord

MINUTE_US = 60 * 1_000_000
IN_VAIN = 3  # answers that a receiver did not give, one after the other: then the others would wait in vain

Told = Callable[[str, int, int], None]
"""(receiver, how many operations are done there, how many there are)."""


def silent(receiver: str, done: int, of: int) -> None:
    """Nobody watches."""
    del receiver, done, of


@dataclass(slots=True)
class Count:
    """What came of a call. `left`: operations that it did not come to, since their receiver gave no answer."""

    came: Counter[Came] = field(default_factory=Counter[Came])
    asked: int = 0
    left: int = 0
    unreachable: set[str] = field(default_factory=set[str])
    incidents: list[str] = field(default_factory=list[str])


async def reconcile(
    opened: Opened, *, receiver: str | None, per_minute: int | None, by: str | None, told: Told
) -> dict[str, Any]:
    """RECONCILED, as `Restore.reconcile` says. A crash loses nothing: what was asked stands in the record."""
    if opened.installation().restore_state != "open":
        raise Refused("no_restore")
    there = _there(opened)
    if receiver is not None and receiver not in {*there, *opened.registry.receivers}:
        raise Refused("not_found", what="receiver", id=receiver)
    share = _per_minute(per_minute)
    adopted = await adopt(opened, receiver, share)
    count = Count(unreachable=set(adopted.unreachable))
    names = sorted(there if receiver is None else {receiver} & set(there))
    lanes = [_lane(opened, name, there[name], share, by, count, told) for name in names]
    problems = [each for each in await asyncio.gather(*lanes, return_exceptions=True) if each is not None]
    if problems:
        raise problems[0]  # when all others are asked
    with opened.read() as reader:
        status = restore_view(opened, reader)
    view = _view(count)
    view["reconciled"] |= {"adopted": adopted.records, "problems": adopted.problems}
    return view | status


def _there(opened: Opened) -> Counter[str]:
    """How many operations are open at each receiver: names and numbers, never the operations."""
    return Counter(operation.receiver for page in open_pages(opened.read) for operation in page)


async def _lane(opened: Opened, receiver: str, of: int, share: int, by: str | None, count: Count, told: Told) -> None:
    if _left_alone(opened, receiver):
        count.unreachable.add(receiver)
        count.left += of
        return
    began, done, asked, in_vain = opened.clock.now_us(), 0, 0, 0
    for page in open_pages(opened.read, receiver):
        for operation in page:
            if in_vain == IN_VAIN:
                count.left += 1
                continue
            if asked and asked % share == 0:
                await opened.clock.wait(asyncio.Event(), began + asked // share * MINUTE_US)
            came = await _one(opened, operation, by, count)
            if came not in (*NOT_ASKABLE, Came.ASKED_BEFORE) or came is Came.INCIDENT:
                asked += 1
            in_vain = in_vain + 1 if came is Came.UNREACHABLE else 0
            done += 1
            told(receiver, min(done, of), of)


async def _one(opened: Opened, operation: OperationRecord, by: str | None, count: Count) -> Came:
    came, incident = await reconciled(opened, operation.operation_id, by)
    count.came[came] += 1
    if came not in (*NOT_ASKABLE, Came.ASKED_BEFORE) or incident is not None:
        count.asked += 1
    if incident is not None:
        count.incidents.append(incident)
    if came is Came.UNREACHABLE:
        count.unreachable.add(operation.receiver)
    return came


def _left_alone(opened: Opened, receiver: str) -> bool:
    """It asked for that, by a Retry-After."""
    with opened.read() as reader:
        tap = reader.get(TapRecord, receiver)
    return tap is not None and (tap.closed_until or 0) > opened.clock.now_us()


def _per_minute(given: int | None) -> int:
    if given is not None:
        if given < 1:
            raise Refused("usage", problem="at least one question a minute")
        return given
    try:
        return max(1, int(settings.number_of("COUNTERFOIL_RECONCILE_PER_MINUTE")))
    except ValueError as problem:
        raise Refused("usage", problem=str(problem)) from problem


def _view(count: Count) -> dict[str, Any]:
    """`{reconciled: {asked, asked_before, closed, in_doubt, unreachable, left, not_askable, incidents}}`."""
    came = count.came
    return {
        "reconciled": {
            "asked": count.asked,
            "asked_before": came[Came.ASKED_BEFORE],
            "closed": {"succeeded": came[Came.SUCCEEDED], "failed": came[Came.FAILED]},
            "in_doubt": came[Came.IN_DOUBT] + came[Came.UNREACHABLE],
            "unreachable": sorted(count.unreachable),
            "left": count.left,
            "not_askable": {why.value: came[why] for why in NOT_ASKABLE if came[why]},
            "incidents": count.incidents,
        }
    }
