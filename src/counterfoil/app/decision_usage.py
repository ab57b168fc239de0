"""What models were asked, used and cost, summed: what was not measured is counted, and never counted as zero."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any, cast

from counterfoil.app.views.decision import agent_of
from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.artifacts import Whole

COUNTS = ("asked", "decisions", "failed", "lost", "open", "requests", "input_tokens", "output_tokens")
_MEASURED = ("requests", "input_tokens", "output_tokens")


class Call:
    """One call of a model: where it stands, and what came back."""

    def __init__(self, run: RunRecord, asked: Entry, conversation: str | None) -> None:
        self.run = run
        self.conversation = conversation
        self.agent = agent_of(asked)
        self.at = asked.at
        self.question = parsed(asked.body)["data"]
        self.ended = "open"
        self.answer: dict[str, Any] = {}

    @property
    def model(self) -> str | None:
        """As the question named it."""
        return _text(self.question.get("model"))

    def tools(self, whole: Whole) -> list[str | None]:
        """The tools that a turn's answer called, each once; one None where it called none, or cannot be read any more."""
        called: list[str] = []
        with suppress(Refused, ValueError, KeyError, TypeError, AttributeError):
            output: dict[str, Any] | None = whole(self.answer.get("output")) if "keep" in self.question else None
            parts: list[dict[str, Any]] = [] if output is None else output.get("parts", [])
            called = sorted({str(part["tool_name"]) for part in parts if part.get("part_kind") == "tool-call"})
        return [*called] or [None]


_BY: dict[str, Callable[[Call, Whole], Sequence[str | None]]] = {
    "model": lambda call, _: [call.model],
    "agent": lambda call, _: [call.agent],
    "workflow": lambda call, _: [call.run.workflow],
    "conversation": lambda call, _: [call.conversation],
    "day": lambda call, _: [(rfc3339(call.at) or "")[:10]],
    "tool": lambda call, whole: call.tools(whole),
}
BY = tuple(_BY)


def summed(calls: Iterable[Call], by: str, whole: Whole) -> dict[str, Any]:
    """`{by, items: [USAGE], total: USAGE}`. By tool, an answer counts under each tool that it called. Raises Refused(usage)."""
    if by not in _BY:
        raise Refused("usage", problem=f"there is no --by {by!r}; there are {', '.join(BY)}")
    found: dict[str | None, dict[str, Any]] = {}
    total = _nothing(None)
    for call in calls:
        _add(total, call)
        for key in _BY[by](call, whole):
            _add(found.setdefault(key, _nothing(key)), call)
    items = sorted(found.values(), key=lambda item: (item["key"] is None, item["key"] or ""))
    return {"by": by, "items": items, "total": total}


def calls_in(run: RunRecord, entries: Sequence[Entry], conversation: str | None = None) -> Iterator[Call]:
    """Every call of a model, in order. At one position one call is open at most."""
    calls: list[Call] = []
    open_: dict[str, Call] = {}
    ends = {
        EntryKind.DECISION: "decisions", EntryKind.TRY_FAILED: "failed", EntryKind.STEP_FAILED: "failed",
        EntryKind.LOST: "lost",
    }  # fmt: skip
    for entry in entries:
        position = entry.position or ""
        if entry.kind is EntryKind.ASKED:
            open_[position] = Call(run, entry, conversation)
            calls.append(open_[position])
        elif entry.kind in ends and (call := open_.pop(position, None)) is not None:
            call.ended = ends[entry.kind]
            call.answer = parsed(entry.body)["data"] if entry.kind is EntryKind.DECISION else {}
    for call in open_.values():
        if run.state.ended:  # nobody waits for its answer any more
            call.ended = "lost"
    return iter(calls)


def _nothing(key: str | None) -> dict[str, Any]:
    return {"key": key} | dict.fromkeys(COUNTS, 0) | {"unmeasured": 0, "cost_micros": None, "unpriced": 0}


def _add(item: dict[str, Any], call: Call) -> None:
    item["asked"] += 1
    item[call.ended] += 1
    if call.ended != "decisions":
        return
    # One record that cannot be read is not measured: it must not take the figures of all others along.
    usage = call.answer.get("usage")
    used: dict[str, Any] = cast("dict[str, Any]", usage) if isinstance(usage, dict) else {}
    for name in _MEASURED:
        item[name] += _number(used.get(name)) or 0
    item["unmeasured"] += _number(used.get("input_tokens")) is None
    cost = _number(call.answer.get("cost_micros"))
    if cost is None:
        item["unpriced"] += 1
    else:
        item["cost_micros"] = (item["cost_micros"] or 0) + cost


def _number(value: Any) -> int | None:
    return value if type(value) is int else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None
