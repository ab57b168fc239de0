"""What a person types in a terminal: one line at a time, edited at its end, while answers are drawn above it.

The terminal itself neither echoes nor edits here, since its echo would stand in the midst of what is drawn. Its signal keys stay.
"""

import asyncio
import codecs
import os
import signal
import sys
import termios
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from counterfoil.cli.streams import Streams, Unwritten

END, ERASE_LINE, ERASE_WORD = "\x04", "\x15", "\x17"
BACKSPACE = ("\x7f", "\x08")
ENTER = ("\r", "\n")
ESCAPE = "\x1b"
PASTED, PASTED_TO = f"{ESCAPE}[200~", f"{ESCAPE}[201~"
ASK_PASTED, NO_PASTED = f"{ESCAPE}[?2004h", f"{ESCAPE}[?2004l"
_LFLAG = 3
_READ = 4096


class Line:
    """The line that is being typed. `feed` takes characters and gives the lines that they complete; None is the end (Ctrl-D)."""

    def __init__(self) -> None:
        self.text = ""
        self._escape = ""
        self._pasting = False

    def feed(self, characters: str) -> list[str | None]:
        done: list[str | None] = []
        for each in characters:
            if self._escape or each == ESCAPE:
                self._sequence(each)
            elif each in ENTER and not self._pasting:
                done.append(self.text)
                self.text = ""
            elif each == END and not self.text:
                done.append(None)
            else:
                self._edit(each)
        return done

    def _edit(self, key: str) -> None:
        if key in BACKSPACE:
            self.text = self.text[:-1]
        elif key == ERASE_LINE:
            self.text = ""
        elif key == ERASE_WORD:
            self.text = self.text.rstrip().rpartition(" ")[0]
            self.text += " " if self.text else ""
        elif key in ENTER:
            self.text += "\n"
        elif key.isprintable() or key == "\t":
            self.text += key

    def _sequence(self, key: str) -> None:
        """Arrows and the like do nothing. What is pasted comes between two sequences, and its line ends send nothing."""
        self._escape += key
        alone = len(self._escape) == 2 and key not in "[O"
        ends = len(self._escape) > 2 and "@" <= key <= "~"
        if alone or ends or len(self._escape) > 16:
            self._pasting = (self._pasting or self._escape == PASTED) and self._escape != PASTED_TO
            self._escape = ""


class Keyboard:
    """Reads while the block is open. `typed` is given each line, None at the end; `changed` is told after every key.

    Raises termios.error on entering where standard input is no terminal.
    """

    def __init__(self, streams: Streams, typed: Callable[[str | None], None], changed: Callable[[], None]) -> None:
        self.line = Line()
        self._streams = streams
        self._typed, self._changed = typed, changed
        self._descriptor = sys.stdin.fileno()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._loop = asyncio.get_running_loop()
        self._before: list[Any] = []

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._descriptor)
        self._quiet()
        self._loop.add_reader(self._descriptor, self._read)
        self._loop.add_signal_handler(signal.SIGCONT, self._back)
        self._streams.say(ASK_PASTED)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._loop.remove_signal_handler(signal.SIGCONT)
        self._loop.remove_reader(self._descriptor)
        with suppress(termios.error, OSError, Unwritten):  # the terminal is gone
            termios.tcsetattr(self._descriptor, termios.TCSADRAIN, self._before)
            self._streams.say(NO_PASTED)

    def more(self) -> None:
        """It reads all the time."""

    def _quiet(self) -> None:
        changed = termios.tcgetattr(self._descriptor)
        changed[_LFLAG] &= ~(termios.ECHO | termios.ICANON)
        termios.tcsetattr(self._descriptor, termios.TCSADRAIN, changed)

    def _back(self) -> None:
        """After Ctrl-Z and `fg`: the shell had the terminal meanwhile."""
        with suppress(termios.error, OSError):
            self._quiet()
        self._changed()

    def _read(self) -> None:
        try:
            found = os.read(self._descriptor, _READ)
        except OSError:
            found = b""  # the terminal is gone
        if not found:
            self._loop.remove_reader(self._descriptor)
            self._typed(None)
            return
        done = self.line.feed(self._decoder.decode(found))
        self._changed()
        for each in done:
            self._typed(each)


class Lines:
    """Where no person types: the lines of standard input, each read when `more` asks for it."""

    def __init__(self, typed: Callable[[str | None], None]) -> None:
        self.line = Line()
        self._typed = typed
        self._reading: asyncio.Future[None] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._reading is not None:
            self._reading.cancel()

    def more(self) -> None:
        """Read the next line, unless one is being read."""
        if self._reading is None or self._reading.done():
            self._reading = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        line = await asyncio.to_thread(_next_line)
        self._typed(None if line is None else line.rstrip("\r\n"))


def _next_line() -> str | None:
    """Undecodable bytes are replaced: a message is text."""
    found = sys.stdin.buffer.readline()
    return found.decode("utf-8", "replace") if found else None
