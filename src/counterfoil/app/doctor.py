"""`doctor`: the storage promise in force, read from live settings, and what is wrong with this installation."""

from collections.abc import Callable
from typing import Any

from counterfoil.engine.opened import Opened


def doctor(opened: Callable[[], Opened], *, production: bool = False) -> dict[str, Any]:
    """`{storage, promises, checks, unattended}` as cli.md says; exit 1 when a check says refuse. Never raises Refused.

    `production`: what is merely a warning on a laptop (a marker on the same disk, one person) is refused.
    """
    raise NotImplementedError
