"""Bars on standard error, while something long is at work."""

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from counterfoil.cli.invocation import Invocation

if TYPE_CHECKING:
    from rich.progress import Progress


def progress(invocation: Invocation) -> "AbstractContextManager[Progress]":
    """Bars on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=invocation.streams.err)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def told(shown: "Progress") -> Any:
    bars: dict[str, Any] = {}

    def say(what: str, done: int, of: int) -> None:
        if what not in bars:
            bars[what] = shown.add_task(what, total=of)
        shown.update(bars[what], completed=done, total=of)

    return say
