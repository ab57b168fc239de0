"""The messages of a turn, put together again from its journal. A conversation's history is the fold of its turns."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai.messages import ModelRequest, ToolReturnPart, UserPromptPart

from counterfoil.agents.compaction import COMPACT, compacted
from counterfoil.agents.messages import plain_of
from counterfoil.agents.outcomes import NOT_DONE, UNKNOWN, Outcomes, Told
from counterfoil.agents.undeclared import telling
from counterfoil.engine.following import turns_before
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import TurnRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.artifacts import Whole
from counterfoil.store.port import Reader

ASK = "ask "  # how the name of a question of a turn begins
OVER = "Final result processed."
HANDED_OVER = "This conversation was handed over to you. A note of whoever handed it over, not of the user:"

Messages = list[dict[str, Any]]


def history_of(opened: Opened, run_ids: Sequence[str], of: str) -> Messages:
    """The messages after these turns, oldest turn first, as the turn `of` is told them: at every replay the same. "" is no turn
    yet: as they stand now.

    Raises Refused: artifact_missing, artifact_damaged.
    """
    messages: Messages = []
    with opened.read() as reader:
        teller = reader.get(RunRecord, of)
        before = None if teller is None else teller.started_at
        for run_id in run_ids:
            messages = after_turn(reader, run_id, messages, opened.artifacts.whole, before)
    return messages


def history_before(opened: Opened, reader: Reader, run_id: str) -> Messages:
    """What a turn begins with: the messages of the turns before, and the note of whoever handed the conversation over to it."""
    return handed_over(reader, run_id, history_of(opened, turns_before(reader, run_id), run_id))


def handed_over(reader: Reader, run_id: str, before: Messages) -> Messages:
    """`before`, and the note that a turn begins with. It says who speaks: its words are not the user's."""
    turn = reader.get(TurnRecord, run_id)
    if turn is None or turn.note is None:
        return before
    return [*before, *plain_of([ModelRequest(parts=[UserPromptPart(f"{HANDED_OVER}\n{turn.note}")])])]


def after_turn(reader: Reader, run_id: str, before: Messages, whole: Whole, told_at: int | None = None) -> Messages:
    """`before` and what this turn added: no call is left without a return, whatever became of the turn."""
    turn = _Turn.of(reader, run_id, before, whole)
    return turn.messages + turn.closing(reader, whole, told_at)


def closing_of(reader: Reader, run_id: str, whole: Whole) -> Messages:
    """What `after_turn` adds behind the last answer, as it stands now: whoever exports the turn takes that along."""
    return _Turn.of(reader, run_id, [], whole).closing(reader, whole, None)


@dataclass(slots=True)
class _Turn:
    """A turn as its entries tell it. `answer`: the position of the newest one. `elsewhere`: it took place there, and ended so."""

    run_id: str
    messages: Messages
    told: Told = field(default_factory=Told)
    answer: str = ""
    elsewhere: dict[str, Any] | None = None

    @classmethod
    def of(cls, reader: Reader, run_id: str, before: Messages, whole: Whole) -> "_Turn":
        turn, asked = cls(run_id, handed_over(reader, run_id, before)), None
        for entry in reader.entries(run_id):
            data, name = parsed(entry.body)["data"], entry.name or ""
            if entry.kind is EntryKind.ASKED and name.startswith(ASK):
                asked = turn.messages[: data["keep"]] + list(whole(data["add"]))
            elif entry.kind is EntryKind.DECISION and name.startswith(ASK) and asked is not None:
                turn.messages, asked, turn.answer = [*asked, whole(data["output"])], None, entry.position or ""
            elif entry.kind is EntryKind.DECISION and name.startswith(COMPACT):
                turn.messages = compacted(whole(data["output"]))
            elif entry.kind is EntryKind.FINISHED and data.get("imported"):
                turn.elsewhere = data
            elif entry.position is not None:
                turn.told.note(entry.kind, entry.position, name, data)
        if asked is not None:
            turn.messages = asked  # it was asked, and no answer came
        return turn

    def closing(self, reader: Reader, whole: Whole, told_at: int | None) -> Messages:
        """One request: a return for each call of the newest answer, and what the model has not heard of older ones."""
        if self.elsewhere is not None and "closing" in self.elsewhere:
            return list(whole(self.elsewhere["closing"]))
        parts = [*self._returns(Outcomes(reader, whole, told_at)), *self._news(reader, whole)]
        plain = plain_of([ModelRequest(parts=parts)]) if parts else []
        return [message | {"parts": [_timeless(part) for part in message["parts"]]} for message in plain]

    def _returns(self, outcomes: Outcomes) -> list[ToolReturnPart]:
        if not self.messages or self.messages[-1]["kind"] != "response":
            return []
        otherwise = self._otherwise(outcomes.reader)
        calls = [part for part in self.messages[-1]["parts"] if part["part_kind"] == "tool-call"]
        return [
            ToolReturnPart(
                tool_name=call["tool_name"],
                content=outcomes.of(self.told, f"{self.answer}.{n}", otherwise),
                tool_call_id=call["tool_call_id"],
            )
            for n, call in enumerate(calls)
        ]

    def _otherwise(self, reader: Reader) -> str:
        """Of a call that left nothing on record. Of a turn that took place elsewhere the record itself is elsewhere."""
        run = reader.get(RunRecord, self.run_id)
        if run is not None and run.state is RunState.COMPLETED:
            return OVER
        return NOT_DONE if self.elsewhere is None else UNKNOWN

    def _news(self, reader: Reader, whole: Whole) -> list[UserPromptPart]:
        """What became of interrupted calls of which the model has not heard, and of which no return tells it."""
        told = self.told
        here = {each for place, each in told.operations.items() if place.startswith(f"{self.answer}.")}
        found = [each for each in told.interrupted if each not in told.heard | here]
        records = [reader.get(OperationRecord, each) for each in found]
        closed = [record for record in records if record is not None and record.status.closed]
        return [UserPromptPart(telling(reader, record, whole)) for record in closed]


def _timeless(part: dict[str, Any]) -> dict[str, Any]:
    """The same record is told in the same words, also in a file."""
    return {name: value for name, value in part.items() if name != "timestamp"}
