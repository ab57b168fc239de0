"""Duty: match what receivers sent by themselves: what a crash left stored, and orphans whose operation may be known by now."""

from typing import TYPE_CHECKING

from counterfoil.app.webhooks.matching import match
from counterfoil.model.duty import DutyRecord
from counterfoil.model.errors import Refused
from counterfoil.store.port import StorageError

if TYPE_CHECKING:
    from counterfoil.app.application import App

AT_ONCE = 500


async def match_due(app: "App", duty: DutyRecord) -> None:
    """All that is due now. One that cannot be matched holds up no other; what went wrong is told when all were tried."""
    del duty
    opened = app.open()
    with opened.read() as reader:
        due = reader.received.due(opened.clock.now_us(), AT_ONCE)
    problems: list[Refused] = []
    for delivery_id in due:
        try:
            await match(opened, delivery_id)
        except StorageError:
            raise
        except Refused as problem:
            problems.append(problem)
    if problems:
        raise problems[0]
