"""How answers look to a person: short, and safe to print whatever a payload holds."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STYLES = {
    "completed": "green", "succeeded": "green", "approved": "green", "ok": "green", "yes": "green", "pass": "green",
    "running": "cyan", "in_flight": "cyan", "pending": "cyan", "prepared": "cyan", "open": "cyan", "waiting": "cyan",
    "parked": "yellow", "unknown": "yellow", "warn": "yellow", "if": "yellow", "expired": "yellow",
    "failed": "red", "cancelled": "red", "rejected": "red", "refuse": "red", "no": "red",
}  # fmt: skip


def plain(value: Any) -> str:
    """A value as text that cannot steer the terminal: control, direction and half characters are shown as escapes."""
    text = "-" if value is None else "yes" if value is True else "no" if value is False else str(value)
    return "".join(each if _harmless(each) else each.encode("unicode_escape").decode() for each in text)


def _harmless(character: str) -> bool:
    return character == "\n" or unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co"}


_MOMENT = re.compile(r"(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})\.\d{6}Z")
_WIDEST_WORD = 16  # a column is as wide as its longest word, up to this; longer ones are folded


def moment(value: Any) -> str:
    """A time to the second, as people read it; anything else as `plain`."""
    return _MOMENT.sub(r"\1 \2Z", plain(value))


def styled(value: Any) -> "Text":
    """A value, in its colour where it is a state."""
    from rich.text import Text

    text = moment(value)
    return Text(text, style=STYLES.get(text, ""))


def table(console: "Console", columns: Sequence[str], rows: Sequence[Sequence[Any]], *, empty: str) -> None:
    """A list; `empty` is the sentence where there is nothing."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    if not rows:
        console.print(Text(empty, style="dim"))
        return
    drawn = Table(box=box.SIMPLE_HEAD, header_style="bold", pad_edge=False)
    cells = [[styled(cell) for cell in row] for row in rows]
    for n, column in enumerate(columns):
        words = [word for row in cells for word in row[n].plain.split()]
        widest = max((len(word) for word in words), default=0)
        # The first column is what is typed next: it is never folded.
        drawn.add_column(column, overflow="fold", no_wrap=n == 0, min_width=min(widest, _WIDEST_WORD))
    for row in cells:
        drawn.add_row(*row)
    console.print(drawn)


def fields(console: "Console", named: Mapping[str, Any]) -> None:
    """Name and value, a line each."""
    from rich.table import Table

    drawn = Table(box=None, show_header=False, pad_edge=False)
    drawn.add_column(style="dim", no_wrap=True)
    drawn.add_column(overflow="fold")
    for name, value in named.items():
        drawn.add_row(name, styled(value))
    console.print(drawn)


def sentence(console: "Console", text: Any) -> None:
    """One line of prose."""
    from rich.text import Text

    console.print(Text(plain(text)))


def heading(console: "Console", text: str) -> None:
    """Above a part."""
    from rich.text import Text

    console.print(Text(f"\n{text}", style="bold"))


def next_action(console: "Console", action: Mapping[str, Any] | None) -> None:
    """The next allowed action, its person, and its command on a line of its own: it is there to be copied."""
    from rich.text import Text

    if action is None or action["who"]["kind"] == "none":
        return
    who = action["who"]
    whom = f" ({who['kind']}{' ' + plain(who['name']) if who['name'] else ''})"
    until = f", until {moment(action['deadline_at'])}" if action["deadline_at"] else ""
    console.print(Text.assemble(("next: ", "bold"), plain(action["sentence"]), (whom + until, "dim")))
    if action["command"]:
        console.print(Text(f"  {plain(action['command'])}", style="bold cyan"), soft_wrap=True)


def more(console: "Console", data: Mapping[str, Any]) -> None:
    """Where a list goes on."""
    from rich.text import Text

    if data.get("next_cursor") is not None:
        console.print(Text(f"more: --cursor {data['next_cursor']}", style="dim"))
