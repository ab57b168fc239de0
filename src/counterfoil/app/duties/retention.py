"""Duty: rows that are no evidence are deleted once they are of no use. Evidence is never deleted here."""

from typing import TYPE_CHECKING

from counterfoil.app.duties.duty import DAY_US
from counterfoil.engine.duties import Sweep
from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App

KEPT_US = 30 * DAY_US
AT_ONCE = 500


async def sweep(app: "App", duty: DutyRecord) -> None:
    """Sessions that are over, notices that are sent or given up, workers that stopped: kept for 30 days."""
    opened = app.open()
    before = opened.clock.now_us() - KEPT_US
    while True:
        with opened.read() as reader:
            verb = Sweep(
                duty.name,
                sessions=tuple(reader.upkeep.old_sessions(before, AT_ONCE)),
                notices=tuple(reader.upkeep.old_notices(before, AT_ONCE)),
                workers=tuple(reader.upkeep.old_workers(before, AT_ONCE)),
            )
        if await opened.write(verb) < AT_ONCE:
            return
