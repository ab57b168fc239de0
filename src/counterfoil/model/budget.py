"""Limits with an owner."""

from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from counterfoil.model.people import Owner


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """`attempts`: failed tries in the whole run. `elapsed` does not count waiting for people. `spend_usd`: model cost."""

    attempts: int
    elapsed: timedelta
    spend_usd: Decimal | float
    owner: Owner | str


@dataclass(frozen=True, slots=True)
class Retry:
    """Tries of one step, the first included; the pause doubles from `pause` up to `longest`."""

    tries: int
    pause: timedelta = timedelta(seconds=1)
    longest: timedelta = timedelta(minutes=5)
