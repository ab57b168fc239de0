"""The public test kit: servers on the loopback that stand in for what is outside, and what drives them.

Nothing is imported until it is used: a server that is started as a process of its own must be ready in a moment.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from counterfoil.testing.bench import Bench

__all__ = ["Bench"]


def __getattr__(name: str) -> object:
    if name == "Bench":
        from counterfoil.testing.bench import Bench

        return Bench
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
