"""Tells what a conversation's record holds, each thing once, and draws what may still change."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from rich.text import Text

from counterfoil.app.turns import turn_told
from counterfoil.cli.chat import standing
from counterfoil.cli.chat.screen import Paper, Shows
from counterfoil.cli.chat.told import NOTE, Line, Turn
from counterfoil.cli.chat.writing import Writing
from counterfoil.cli.tables import plain
from counterfoil.model.errors import CounterfoilError

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.cli.chat.answering import Reviewer


class Teller:
    """`current` is the turn that was at work last, `reviews` those that were shown and are open, by number."""

    def __init__(self, app: "App", screen: Paper, reviewer: "Reviewer", agent: str) -> None:
        self._app, self._screen, self._reviewer, self._agent = app, screen, reviewer, agent
        durable = app.agents.get(agent)
        self._kinds = {} if durable is None else {row["tool"]: row["kind"] for row in durable.tools()}
        self._writing = Writing()
        self.current: Turn | None = None
        self.reviews: dict[int, Mapping[str, Any]] = {}

    # ------------------------------------------------------------------ what is told

    def tell(self, line: Line) -> None:
        """Once."""
        label = (f"{plain(line.label)}: " if line.label.strip() else line.label, "bold")
        told = Text.assemble(label, (plain(line.text), line.style))
        self._screen.tell(line.key, lambda console: console.print(told))

    def note(self, text: str) -> None:
        """Something beside what was said."""
        self.draw(lambda console: console.print(Text(plain(text), style=NOTE)))

    def draw(self, shows: Shows) -> None:
        """Something that was asked for."""
        self._screen.tell(None, shows)

    def refused(self, error: CounterfoilError) -> None:
        """What was refused, and what is safe to do."""
        self.draw(partial(_refused, error))

    def forget(self) -> None:
        """Another conversation begins. What was told stays told: a fork's past is not told again."""
        self.current = None
        self.reviews.clear()

    # ------------------------------------------------------------------ what is watched

    def watched(self, items: Sequence[Mapping[str, Any]]) -> None:
        """Items of a watch, in order. The record is read after they came, so that each piece belongs to the newest question."""
        pieces: dict[str, list[tuple[str, str]]] = {}
        for item in items:
            match item["type"]:
                case "snapshot":
                    for turn in item["turns"]:
                        pieces.setdefault(turn["run_id"], [])
                case "partial":
                    pieces.setdefault(item["run_id"], []).append((item["place"], item["text"]))
                case _:
                    pieces.setdefault(item["run_id"], [])
        for run_id, found in pieces.items():
            turn = self.look(run_id)
            self._writing.take(run_id, turn.items, found)

    def look(self, run_id: str) -> Turn:
        """Read a turn, and tell what is new in it."""
        view, run, items = turn_told(self._app.open(), run_id)
        turn = Turn(view, run, items, view["agent"], self._kinds)
        for line in turn.lines():
            self.tell(line)
        same = self.current is not None and self.current.run["run_id"] == run_id
        if same or turn.at_work:
            self.current = turn
            self._ask_for_people(run)
        return turn

    def _ask_for_people(self, run: Mapping[str, Any]) -> None:
        self.reviews.clear()
        for each in standing.open_reviews(run):
            review = self._app.reviews.show(each["review_id"])
            key = (each["review_id"], each["proposal_version"], len(review["answers"]["given"]))
            forbidden = self._reviewer.forbidden(each["review_id"])
            self._screen.tell(key, partial(standing.draw_review, review=review, forbidden=forbidden))
            self.reviews[each["number"]] = review
        if standing.stands(run):
            self._screen.tell(standing.key_of(run), partial(standing.draw, run=run))

    # ------------------------------------------------------------------ what may still change

    def provisional(self) -> list[Text]:
        """What is under way: calls, questions, and what a model has answered so far."""
        lines: list[Text] = []
        current = self.current
        for text, asking in () if current is None else current.under_way():
            so_far = "" if asking is None or current is None else self._writing.of(current.run["run_id"], asking)
            label = f"{self._agent} (provisional): "
            lines.append(
                Text.assemble((label, "bold dim"), (plain(so_far), "dim italic")) if so_far else Text(plain(text), NOTE)
            )
        return lines


def _refused(error: CounterfoilError, console: "Console") -> None:
    console.print(Text.assemble(("refused: ", "bold red"), plain(error.message), (f" ({error.code})", NOTE)))
    console.print(Text(plain(error.safe_next), style=NOTE))
