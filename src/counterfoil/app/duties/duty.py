"""A duty: its name, how often it is due, how long it may take, and what it does."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App

SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US
HOUR_US = 60 * MINUTE_US
DAY_US = 24 * HOUR_US

CarryOut = Callable[["App", DutyRecord], Awaitable[int | None]]
"""Does what is due. Gives how far it came, for the next time, or None. Raises what went wrong: that is kept and shown."""


@dataclass(frozen=True, slots=True)
class Duty:
    """Due again `every_us` after it was done. Whoever holds it longer than `lease_us` loses it to another.

    Two processes may overlap then: everything that a duty does must be harmless when it is done twice.
    """

    name: str
    about: str
    every_us: int
    lease_us: int
    carry_out: CarryOut
