"""Duty: count records at receivers after their operations were closed, at a bounded rate. It reads, and sends nothing."""

from typing import TYPE_CHECKING

from counterfoil.app.sweeping.enrolling import enrol
from counterfoil.app.sweeping.rounds import per_minute, swept
from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App


async def sweep_receivers(app: "App", duty: DutyRecord) -> int:
    """What is due, at most the setting's number for each receiver. Due again in a minute, so that is the rate."""
    opened = app.open()
    mark = await enrol(opened, duty.mark)
    await swept(opened, receiver=None, again_before=None, most=per_minute())
    return mark
