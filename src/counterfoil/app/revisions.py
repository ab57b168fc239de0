"""Which answer of a conversation a revision is of."""

from counterfoil.app.views.conversation import past_of, text_of
from counterfoil.engine.revising import Revision, revision_of
from counterfoil.model.conversation import ConversationRecord, TurnKind
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.store.port import Reader

LONGEST_REASON = 4_000
LOOKED_AT = 50  # so many of the newest turns


def revision_for(reader: Reader, conversation: ConversationRecord, reason: str) -> Revision:
    """The newest answer, to be asked for anew. While that is under way for the same reason, the very same revision.

    Raises Refused(nothing_to_revise).
    """
    if conversation.next_kind is not TurnKind.MESSAGE:
        problem = f"a {conversation.next_kind.value} was asked for since"
        raise Refused("nothing_to_revise", conversation=conversation.name, problem=problem)
    for turn, run in past_of(reader, conversation, limit=LOOKED_AT):
        own = revision_of(reader, run.run_id)
        if own is not None and own.reason == reason and not run.state.ended:
            return own
        decided = [e.sequence for e in reader.entries(run.run_id) if e.kind is EntryKind.DECISION]
        if decided and turn.kind is not TurnKind.COMPACTION:
            lineage = () if own is None else own.lineage
            message = text_of(run) if own is None else own.message
            return Revision(f"{run.run_id}/{decided[-1]}", reason, message, (*lineage, run.run_id))
        if turn.kind is TurnKind.RESET:
            break
    raise Refused("nothing_to_revise", conversation=conversation.name, problem="nothing was answered yet")
