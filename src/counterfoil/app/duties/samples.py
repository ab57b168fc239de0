"""Duty: what was counted is stored, so that looking at metrics stays cheap, and a value of each metric every minute."""

from typing import TYPE_CHECKING

from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App


async def sample(app: "App", duty: DutyRecord) -> None:
    """Once a minute is enough: a second one in the same minute changes nothing."""
    del duty
    await app.metrics.sample()
