"""DECISION: an accepted model output with its versions, usage and cost, and what people and receivers made of it later."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

_VERSIONS = ("prompt_version", "policy_version")


@dataclass(frozen=True, slots=True)
class Decided:
    """A decision and its newest question, as the journal has them. `lost`: calls before it whose answer never came."""

    sequence: int
    position: str
    agent: str
    data: Mapping[str, Any]
    at: int
    asked: Mapping[str, Any]
    asked_at: int
    lost: int

    @property
    def turn(self) -> bool:
        """Whether it was asked in an agent's turn: then its input is a list of messages, kept as what was added to it."""
        return "keep" in self.asked

    @property
    def kind(self) -> str:
        """What it was asked for: a workflow's decision, an answer in a turn, or a compaction of a conversation."""
        return "turn" if self.turn else "workflow" if "input" in self.asked else "compaction"


@dataclass(frozen=True, slots=True)
class Around:
    """The rows of a run that tell what became of its decisions."""

    entries: Sequence[Entry]
    operations: Sequence[OperationRecord]
    proposals: Sequence[ProposalRecord]
    reviews: Sequence[ReviewRecord]

    @staticmethod
    def of(reader: Reader, run_id: str, entries: Sequence[Entry]) -> "Around":
        """One query per table."""
        return Around(
            entries,
            reader.find(OperationRecord, "run_id", run_id),
            reader.find(ProposalRecord, "run_id", run_id),
            reader.find(ReviewRecord, "run_id", run_id),
        )


def decided_in(entries: Sequence[Entry]) -> list[Decided]:
    """The decisions of a run, in their order."""
    asked: dict[str, Entry] = {}
    lost = Counter[str]()
    found: list[Decided] = []
    for entry in entries:
        position = entry.position or ""
        if entry.kind is EntryKind.ASKED:
            asked[position] = entry
        elif entry.kind is EntryKind.LOST:
            lost[position] += 1
        elif entry.kind is EntryKind.DECISION:
            data, question = parsed(entry.body)["data"], asked[position]
            agent = data.get("agent") or agent_of(entry)
            found.append(
                Decided(
                    entry.sequence,
                    position,
                    agent,
                    data,
                    entry.at,
                    parsed(question.body)["data"],
                    question.at,
                    lost[position],
                )
            )
    return found


def agent_of(entry: Entry) -> str:
    """`decide NAME` and `ask NAME` are what such calls are called in the journal."""
    return (entry.name or "").partition(" ")[2]


def decision_id(run: RunRecord, sequence: int) -> str:
    """The run and the entry: `run_.../7`. `run-3/7` is understood, too."""
    return f"{run.run_id}/{sequence}"


def conversation_of(reader: Reader, run_id: str) -> str | None:
    """The name of the conversation that a run is a turn of, or that the turn is of which it does a part."""
    turn = reader.get(TurnRecord, run_id)
    run = None if turn is not None else reader.get(RunRecord, run_id)
    if run is not None and run.parent_run_id is not None:
        return conversation_of(reader, run.parent_run_id)
    conversation = None if turn is None else reader.get(ConversationRecord, turn.conversation_id)
    return None if conversation is None else conversation.name


def decision_view(run: RunRecord, decided: Decided, conversation: str | None) -> dict[str, Any]:
    """DECISION without its verdicts."""
    return {
        "decision_id": decision_id(run, decided.sequence),
        "run_id": run.run_id,
        "run_number": run.number,
        "sequence": decided.sequence,
        "position": decided.position,
        "agent": decided.agent,
        "kind": decided.kind,
        "conversation": conversation,
        "versions": {
            "workflow": run.workflow,
            "workflow_version": run.workflow_version,
            "model": decided.data.get("model"),
            **{name: decided.data.get(name) for name in _VERSIONS},
        },
        "revises": decided.data.get("revises"),
        "reason": decided.data.get("reason"),
        "asked_at": rfc3339(decided.asked_at),
        "decided_at": rfc3339(decided.at),
        "usage": decided.data.get("usage") or {},
        "cost_micros": decided.data.get("cost_micros"),
        "lost": decided.lost,
    }
