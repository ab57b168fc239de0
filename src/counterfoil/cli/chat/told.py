"""A turn as a chat tells it: of each thing that its record holds one line, under a key that never changes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.engine.following import QUEUED
from counterfoil.model.conversation import TurnKind

Run = Mapping[str, Any]
Item = Mapping[str, Any]
_DOING = {
    "running": "runs", "recorded": "is under way", "not_begun": "is planned", "interrupted": "interrupted, outcome unknown",
}  # fmt: skip
_DONE = {
    "done": "done", "failed": "failed", "held": "held: planned before it was known what an interrupted call did",
    "not_run": "not run", "not_done": "not run", "interrupted": _DOING["interrupted"],
}  # fmt: skip
ENDED = ("completed", "failed", "cancelled")
_LONGEST = 200
NOTE = "dim"


@dataclass(frozen=True, slots=True)
class Line:
    """`label` stands before the text: who says it."""

    key: tuple[Any, ...]
    text: str
    label: str = ""
    style: str = ""


@dataclass(frozen=True, slots=True)
class Turn:
    """`view` is TURN of the conversation, `run` its RUN, `items` what was said and done in it, `kinds` of tools by name."""

    view: Mapping[str, Any]
    run: Run
    items: Sequence[Item]
    agent: str
    kinds: Mapping[str, str]

    @property
    def at_work(self) -> bool:
        """It has not ended, and waits for no turn before it."""
        return self.run["state"] not in ENDED and self.run["reason"] != QUEUED

    def lines(self) -> Iterator[Line]:
        """What stands: said, decided, called to an end, ended."""
        run_id = self.run["run_id"]
        if self.view["kind"] == TurnKind.COMPACTION.value:
            yield Line(
                (run_id, "compaction"), "What was said is told in short; later turns begin with that.", style=NOTE
            )
        elif self.view["text"]:
            steer = " (while it was at work)" if self.view["kind"] == TurnKind.STEER.value else ""
            yield said_by_user(run_id, self.view["text"], steer)
        for item in self.items:
            yield from self._of(run_id, item)
        ended = self._ended()
        if ended is not None:
            yield ended

    def under_way(self) -> Iterator[tuple[str, Item | None]]:
        """(a line, the question that it is about) for what may still change."""
        if self.run["state"] in ENDED:
            return
        for item in self.items:
            if item["kind"] == "decision":
                for call in item["calls"]:
                    doing = self._doing(call)
                    if doing is not None:
                        yield f"  {doing}", None
            elif item["kind"] == "asking" and item["open"]:
                again = item["lost"] + item["failed"]
                yield f"asking {self.agent}" + (f" again, after {again} without an answer" if again else ""), item
        if self.run["state"] != "running":
            yield f"run-{self.run['number']} is {self.run['state']}: {self.run['sentence']}", None

    # ------------------------------------------------------------------ what stands

    def _of(self, run_id: str, item: Item) -> Iterator[Line]:
        key = (run_id, item["sequence"])
        match item["kind"]:
            case "said" if item["role"] == "agent":
                yield Line((*key, "said"), item["text"], self.agent)
            case "decision":
                yield from self._decided(key, item)
            case "steer":
                yield Line((*key, "steer"), "It has read what you said meanwhile.", style=NOTE)
            case "heard":
                numbers = ", ".join(f"op-{number}" for number in item["operations"])
                yield Line((*key, "heard"), f"It has heard what became of {numbers or 'its calls'}.", style=NOTE)
            case _:
                pass

    def _decided(self, key: tuple[Any, ...], item: Item) -> Iterator[Line]:
        again = item["lost"] + item["failed"]
        if again:
            yield Line((*key, "again"), f"It was asked {again + 1} times; {again} without an answer.", style=NOTE)
        if item["text"] and not item["compaction"]:
            yield Line((*key, "said"), item["text"], self.agent)
        for call in item["calls"]:
            operations = [each for each in map(self._operation, call["operations"]) if each is not None]
            closed = [each for each in operations if each["status"] in ("succeeded", "failed")]
            for operation in closed:
                yield Line((*key, call["n"], operation["number"]), f"{self._named(call)}: {_closed(operation)}", "  ")
            if not operations or call["state"] == "interrupted":
                done = _DONE.get(call["state"])
                if done is not None:
                    gave = call["failed"] or call["returned"]
                    text = f"{self._named(call)}: {done}" + (f", {shortened(gave)}" if gave else "")
                    yield Line((*key, call["n"], call["state"]), text, "  ")

    def _ended(self) -> Line | None:
        run, key = self.run, (self.run["run_id"], "ended")
        if self.view["kind"] == TurnKind.STEER.value:
            return None
        match run["state"]:
            case "completed":
                return Line(key, f"run-{run['number']} completed{_spent(run)}", style=NOTE)
            case "failed":
                failure: dict[str, Any] = run["failure"] or {}
                why = failure.get("message") or run["sentence"]
                return Line(key, f"run-{run['number']} failed: {why}{_spent(run)}", style="red")
            case "cancelled":
                return Line(
                    key, f"run-{run['number']} was aborted; nothing more of it is sent{_spent(run)}", style="red"
                )
            case _:
                return None

    # ------------------------------------------------------------------ calls

    def _doing(self, call: Mapping[str, Any]) -> str | None:
        operations = [each for each in map(self._operation, call["operations"]) if each is not None]
        still = [each for each in operations if each["status"] not in ("succeeded", "failed")]
        if still:
            stands = "; ".join(f"op-{each['number']} {each['status']}: {each['sentence']}" for each in still)
            return f"{self._named(call)}: {stands}"
        doing = None if operations else _DOING.get(call["state"])
        return None if doing is None else f"{self._named(call)} {doing}"

    def _named(self, call: Mapping[str, Any]) -> str:
        kind = call["what"] or self.kinds.get(call["tool"]) or "undeclared"
        return f"{call['tool']}({shortened(call['arguments'])}) [{kind}]"

    def _operation(self, operation_id: str) -> Mapping[str, Any] | None:
        found = self.run["records"]["operations"]
        return next((each for each in found if each["operation_id"] == operation_id), None)


def said_by_user(run_id: str, text: str, how: str = "") -> Line:
    """A message, under the same key whether it was just accepted or is read again."""
    return Line((run_id, "user"), text, f"you{how}")


def shortened(value: Any) -> str:
    """In one line."""
    if isinstance(value, Mapping):
        given: Mapping[str, Any] = value  # pyright: ignore[reportUnknownVariableType] - JSON
        text = ", ".join(f"{name}={each}" for name, each in given.items())
    else:
        text = str(value)
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _closed(operation: Mapping[str, Any]) -> str:
    """How it ended, and by what that is known."""
    receipt = operation["receipts"][-1] if operation["receipts"] else None
    by = f", {receipt['reference']} ({receipt['how']})" if receipt is not None else f": {operation['sentence']}"
    reused = ", the receipt of an earlier one" if operation["reused"] else ""
    return f"op-{operation['number']} {operation['status']}{by}{reused}"


def _spent(run: Run) -> str:
    """What of its budgets it has used: `; attempts 1 of 5, spend 0.01 of 3`. The time it took is seen, too."""
    used = [
        f"{each['kind']}{' ' + each['of'] if each['of'] else ''} {each['used']} of {each['limit']}"
        for each in run["budgets"]
        if each["kind"] != "elapsed" and float(each["used"]) > 0
    ]
    return f"; {', '.join(used)}" if used else ""
