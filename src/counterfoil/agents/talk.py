"""The conversation that a turn belongs to, as the turn begins: its history, its settings, and what kind of turn this is."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from counterfoil.agents.history import history_before
from counterfoil.engine.admission import Admit, Admitted, WhenBusy, seen_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.revising import Revision, revision_of
from counterfoil.engine.submission import submission
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnKind, TurnRecord

if TYPE_CHECKING:
    from counterfoil.agents.agent import DurableAgent


@dataclass(frozen=True, slots=True)
class Talk:
    """`history` are messages as JSON. A run that is no turn of a conversation has none of it."""

    kind: TurnKind = TurnKind.MESSAGE
    conversation: str | None = None
    history: list[dict[str, Any]] = field(default_factory=lambda: [])
    settings: dict[str, Any] = field(default_factory=lambda: {})
    revision: Revision | None = None


def talk_of(execution: Execution) -> Talk:
    """Read once, as an execution begins. The turns before have ended, so every replay reads the same history."""
    opened, run_id = execution.opened, execution.run.run_id
    with opened.read() as reader:
        turn = reader.get(TurnRecord, run_id)
        if turn is None:
            return Talk()
        conversation = reader.get(ConversationRecord, turn.conversation_id)
        history, revision = history_before(opened, reader, run_id), revision_of(reader, run_id)
    assert conversation is not None, "a turn belongs to a conversation"
    return Talk(turn.kind, conversation.name, history, parsed(conversation.settings), revision)


async def compact_after(
    execution: Execution, durable: "DurableAgent", conversation: str | None, limit: int | None, tokens: int
) -> None:
    """A turn after which the context is larger than its conversation's `compact_after` is followed by a compaction."""
    if conversation is None or limit is None or tokens <= limit:
        return
    await execution.owned(compacting(execution, durable, conversation, f"compact after {execution.run.run_id}"))


async def compacting(execution: Execution, durable: "DurableAgent", conversation: str, request_id: str) -> Admitted:
    """Admit the turn that compacts, behind the turn at work. The same request is accepted once."""
    opened = execution.opened
    given = {"text": "", "conversation": conversation}
    begun = submission(opened.installation_id, durable.workflow, given, request_id, opened.deadlines)
    while True:
        with opened.read() as reader:
            turn = reader.get(TurnRecord, execution.run.run_id)
            assert turn is not None, "only a turn is followed"
            seen = seen_of(reader, turn.conversation_id, request_id)
        verb = Admit.of(
            begun, opened.installation_id, conversation, seen, when_busy=WhenBusy.FOLLOW_UP, kind=TurnKind.COMPACTION
        )
        admitted: Admitted | None = await execution.write(verb)
        if admitted is not None:
            return admitted
