"""Where a command reads and writes: its document on stdout, everything else on stderr."""

import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(slots=True)
class Streams:
    """`json`: one document and never a question. `command`: what was typed, as far as it is known.

    While a command runs, the process's stdout is stderr (main.py), so that code of users which prints cannot spoil the
    document; `out` is the real one.
    """

    out: TextIO
    err: TextIO
    json: bool
    interactive: bool
    command: str | None = None
    database: str | None = None

    @staticmethod
    def of_process(json: bool) -> "Streams":
        """The process's own. A question is asked only where a person can answer it."""
        terminal = sys.stdin is not None and sys.stdin.isatty()  # pyright: ignore[reportUnnecessaryComparison] - `<&-`
        return Streams(sys.stdout, sys.stderr, json, terminal and not json)

    def console(self, *, progress: bool = False) -> "Console":
        """Rich, on stdout; progress goes to stderr when stdout must carry one document."""
        from rich.console import Console

        file = self.err if progress and self.json else self.out
        return Console(file=file, highlight=False, soft_wrap=not file.isatty())

    def notes(self) -> "Console":
        """Rich, on stderr."""
        from rich.console import Console

        return Console(file=self.err, highlight=False, soft_wrap=not self.err.isatty())
