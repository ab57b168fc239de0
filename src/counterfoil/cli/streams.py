"""Where a command reads and writes: its document on stdout, everything else on stderr."""

import errno
import io
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TextIO

if TYPE_CHECKING:
    from rich.console import Console


class Unwritten(Exception):
    """The answer could not be written to stdout. `gone`: its reader went away, which is no failure."""

    def __init__(self, problem: OSError) -> None:
        super().__init__(problem.strerror or "it is closed")
        self.gone = problem.errno == errno.EPIPE


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

    def say(self, text: str) -> None:
        """Write to stdout, in one place and at once. Raises Unwritten."""
        try:
            self.out.write(text)
            self.out.flush()
        except OSError as problem:
            raise Unwritten(problem) from problem

    def draw(self, shows: "Callable[[Console], None]") -> None:
        """Draw for a person. As text first: Rich ends the process by itself when nobody reads. Raises Unwritten."""
        from rich.console import Console

        drawn = io.StringIO()
        terminal = self.out.isatty()
        shows(Console(file=drawn, highlight=False, force_terminal=terminal or None, soft_wrap=not terminal))
        self.say(drawn.getvalue())

    def progress(self) -> "Console":
        """Rich, as things happen: on stdout, or on stderr where stdout must carry one document."""
        from rich.console import Console

        return Console(file=self.err if self.json else self.out, highlight=False)

    def notes(self) -> "Console":
        """Rich, on stderr."""
        from rich.console import Console

        return Console(file=self.err, highlight=False, soft_wrap=not self.err.isatty())
