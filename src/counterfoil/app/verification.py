"""`verify`: is the record as it was written, and do the tables say what the record says?"""

from collections.abc import Callable
from typing import Any

from counterfoil.app.finding import known_id
from counterfoil.engine.opened import Opened


def verify(opened: Callable[[], Opened], *, run: str | None = None) -> dict[str, Any]:
    """`{chains, entries, heads_outside, broken, rows_compared, differences, signature}` of all chains, or of one run's.

    Raises Refused(not_found) for an unknown run.
    """
    raise NotImplementedError
