"""The one way from a command to the verbs that write."""

from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def awaited(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run it to its end. asyncio is loaded here: `--help` does without."""
    from counterfoil.engine.ending import run_to_end

    return run_to_end(coroutine)
