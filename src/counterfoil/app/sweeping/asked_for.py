"""A sweep that a person asks for: at the same rate, as far as its limit, and what it found."""

import asyncio
from typing import Any

from counterfoil.app.sweeping.counting import Counted
from counterfoil.app.sweeping.enrolling import MINUTE_US, enrol
from counterfoil.app.sweeping.rounds import per_minute, swept
from counterfoil.engine.opened import Opened
from counterfoil.model.delivery import SweepRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.store.port import Reader

NOTICES = 200


async def sweep(opened: Opened, *, receiver: str | None, again: bool, limit: int) -> dict[str, Any]:
    """SWEEP, as `Receipts.sweep` says. A crash loses nothing: what was counted says so in its row."""
    if receiver is not None and receiver not in opened.registry.receivers:
        raise Refused("not_found", what="receiver", id=receiver)
    await enrol(opened, 0)
    began, share = opened.clock.now_us(), per_minute()
    counted: list[Counted] = []
    unreachable: set[str] = set()
    while True:
        most = min(share, limit - len(counted))
        done = await swept(opened, receiver=receiver, again_before=began if again else None, most=most)
        counted += done.counted
        unreachable |= done.unreachable
        if not done.left or unreachable or len(counted) >= limit:
            break
        await opened.clock.wait(asyncio.Event(), opened.clock.now_us() + MINUTE_US)
    with opened.read() as reader:
        notices = [_notice(reader, each) for each in reader.received.notices(NOTICES)]
    return {
        "asked": len(counted),
        "unreachable": sorted(unreachable),
        "left": done.left,
        "duplicates": [_duplicate(each) for each in counted if each.incident_id is not None],
        "notices": [each for each in notices if receiver in (None, each["receiver"])],
    }


def _duplicate(found: Counted) -> dict[str, Any]:
    operation = found.operation
    return _named(operation) | {
        "incident_id": found.incident_id,
        "records": found.sweep.count,
        "owner": operation.owner,
    }


def _notice(reader: Reader, sweep: SweepRecord) -> dict[str, Any]:
    operation = reader.get(OperationRecord, sweep.operation_id)
    assert operation is not None, "a sweep is of an operation"
    return _named(operation) | {"records": sweep.count, "notice": sweep.notice}


def _named(operation: OperationRecord) -> dict[str, Any]:
    return {
        "operation_id": operation.operation_id, "number": operation.number, "run_id": operation.run_id,
        "receiver": operation.receiver, "business_key": (operation.business_key or "").rpartition("\x1f")[2] or None,
    }  # fmt: skip
