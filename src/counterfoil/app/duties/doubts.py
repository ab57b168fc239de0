"""Duty: ask the receiver again about what is unknown. Asking is never forbidden, and an answer closes the doubt."""

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING

from counterfoil.app.duties.duty import HOUR_US, MINUTE_US
from counterfoil.engine.opened import Opened
from counterfoil.engine.reconcile import look_up
from counterfoil.model.duty import DutyRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord
from counterfoil.model.run import ParkReason
from counterfoil.store.port import Reader

if TYPE_CHECKING:
    from counterfoil.app.application import App

FIRST_PAUSE_US, LONGEST_PAUSE_US = 5 * MINUTE_US, 6 * HOUR_US
AT_ONCE, BESIDE_EACH_OTHER = 200, 8


async def ask_again(app: "App", duty: DutyRecord) -> None:
    """Each doubt is asked about after 5 minutes, then after twice as long each time, at last every 6 hours."""
    del duty
    opened = app.open()
    now = opened.clock.now_us()
    with opened.read() as reader:
        due = [o for o in reader.unresolved() if _askable(opened, o) and _is_due(reader, o, now)]
    lanes = [_ask(opened, [o.operation_id for o in doubts[:AT_ONCE]]) for doubts in _by_receiver(due)]
    problems = [each for each in await asyncio.gather(*lanes, return_exceptions=True) if each is not None]
    if problems:
        raise problems[0]  # when all others are asked


def _by_receiver(doubts: list[OperationRecord]) -> list[list[OperationRecord]]:
    """A lane for each: one that never answers holds up no other's."""
    found: dict[str, list[OperationRecord]] = {}
    for doubt in doubts:
        found.setdefault(doubt.receiver, []).append(doubt)
    return list(found.values())


async def _ask(opened: Opened, operation_ids: list[str]) -> None:
    few = asyncio.Semaphore(BESIDE_EACH_OTHER)

    async def ask(operation_id: str) -> None:
        async with few:
            with suppress(Refused):  # closed meanwhile, or this process lacks the address or the credential
                await look_up(opened, operation_id)

    problems = [each for each in await asyncio.gather(*map(ask, operation_ids), return_exceptions=True) if each]
    if problems:
        raise problems[0]


def _askable(opened: Opened, operation: OperationRecord) -> bool:
    """In doubt, and this process has the code that can ask. A contradiction is for a person: asking again adds nothing."""
    known = opened.registry.operations.get(operation.name)
    lookup = known.contract.lookup if known is not None else None
    can = lookup is not None and not isinstance(lookup.function, str)
    unknown = operation.status is OperationStatus.UNKNOWN and operation.incident_id is None
    return can and unknown and operation.reason in (None, ParkReason.OUTCOME_UNKNOWN.value)


def _is_due(reader: Reader, operation: OperationRecord, now: int) -> bool:
    asked = reader.find(LookupRecord, "operation_id", operation.operation_id)
    if not asked:
        return True
    pause = min(FIRST_PAUSE_US << min(len(asked) - 1, 16), LONGEST_PAUSE_US)
    last = max(asked, key=lambda lookup: lookup.n).asked_at
    return last + pause <= now or last > now  # asked under a clock that was put back since
