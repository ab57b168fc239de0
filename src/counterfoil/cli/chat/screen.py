"""Where a chat is drawn: what is told stands for good, what may still change stands below it and is drawn anew.

Nothing is told twice, since each thing has a key that is the same whenever it is derived from the record again.
"""

from collections.abc import Callable, Generator, Hashable, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from counterfoil.cli.streams import Streams, Unwritten
from counterfoil.cli.tables import plain

Shows = Callable[[Console], None]
CURSOR = "> "


class Paper:
    """Where nobody watches: what is told is written once, and nothing provisional is. With --json nothing is written at all."""

    def __init__(self, streams: Streams) -> None:
        self._streams = streams
        self._told: set[Hashable] = set()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        pass

    def tell(self, key: Hashable, shows: Shows) -> bool:
        """Tell it, unless it was told. `key` None: always. Gives whether it was."""
        if key is not None:
            if key in self._told:
                return False
            self._told.add(key)
        self._draw(shows)
        return True

    def show(self, lines: Sequence[Text], prompt: str = CURSOR, typed: str = "") -> None:
        """What may still change, the oldest first, and below it what is being typed."""

    def _draw(self, shows: Shows) -> None:
        if not self._streams.json:
            self._streams.draw(shows)


@contextmanager
def _written() -> Generator[None]:
    try:
        yield
    except OSError as problem:
        raise Unwritten(problem) from problem


class Screen(Paper):
    """A terminal. What may change is at its foot, as many lines as fit; the newest are kept.

    Each of its functions raises Unwritten when the terminal is gone.
    """

    def __init__(self, streams: Streams) -> None:
        super().__init__(streams)
        self._console = Console(file=streams.out, highlight=False, force_terminal=True)
        self._live = Live(console=self._console, auto_refresh=False, transient=True, vertical_overflow="visible")

    def __enter__(self) -> Self:
        with _written():
            self._live.start()
            self._console.show_cursor(True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with _written():
            self._live.update(Text(), refresh=False)
            self._live.stop()

    def show(self, lines: Sequence[Text], prompt: str = CURSOR, typed: str = "") -> None:
        """See Paper. The whole is never higher than the terminal, or what was drawn could not be taken back."""
        shown = [*lines, Text.assemble((prompt, "bold cyan"), plain(typed))]
        wrapped = [row for each in shown for row in each.wrap(self._console, self._console.width)]
        with _written():
            self._live.update(Group(*wrapped[-max(1, self._console.height - 1) :]), refresh=True)

    def _draw(self, shows: Shows) -> None:
        with _written():
            shows(self._console)
