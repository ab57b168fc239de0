"""CONVERSATION and TURN: what was said, and where it stands. Never a source of truth about the outside world."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.pending import queued_view
from counterfoil.engine.admission import seen_of
from counterfoil.engine.following import QUEUED
from counterfoil.engine.revising import revision_of
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, MessageRecord, TurnRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader


def conversation_view(reader: Reader, conversation: ConversationRecord) -> dict[str, Any]:
    """`{conversation_id, number, name, agent, turns, next, at_work, queued, forked_from, settings, settings_version,
    created_at, created_by}`.

    `next`: what the next turn will be (message, reset, handoff). `at_work`: `{run_id, number, state, sentence}` of the turn
    that has not ended, None when nobody is at work. `queued`: how many turns wait for it. `forked_from`: `{name, turn, run_id}`.
    """
    seen = seen_of(reader, conversation.conversation_id)
    run = None if seen.at_work is None else reader.get(RunRecord, seen.at_work)
    return {
        "conversation_id": conversation.conversation_id, "number": conversation.number, "name": conversation.name,
        "agent": conversation.agent, "turns": conversation.turns, "next": conversation.next_kind.value,
        "at_work": None if run is None else _at_work(run), "queued": len(queue_of(reader, conversation)),
        "forked_from": _parent(reader, conversation), "settings": parsed(conversation.settings),
        "settings_version": conversation.settings_version, "created_at": rfc3339(conversation.created_at),
        "created_by": conversation.created_by,
    }  # fmt: skip


def turn_view(reader: Reader, turn: TurnRecord, run: RunRecord) -> dict[str, Any]:
    """`{n, conversation, run_id, number, request_id, agent, kind, state, sentence, text, messages, into, note, revises,
    pending, at}`.

    `text` is the message that was accepted; `messages` what was said in the turn: `[{role, text, at}]`. `into`: the run of
    the turn that read it, for a steer. `note`: what whoever handed the conversation over says to the agent. `revises`:
    `{decision_id, reason}` of the answer that this turn revises. `pending`: what a queued turn waits for, as in RUN.
    """
    own = reader.get(ConversationRecord, turn.conversation_id)
    revision = revision_of(reader, turn.run_id)
    revises = None if revision is None else {"decision_id": revision.revises, "reason": revision.reason}
    return {
        "n": turn.n, "conversation": own.name if own is not None else turn.conversation_id, "run_id": turn.run_id,
        "number": run.number, "request_id": run.request_id, "agent": run.workflow, "kind": turn.kind.value,
        "state": run.state.value, "sentence": run.sentence, "text": text_of(run),
        "messages": [
            {"role": said.role, "text": said.text, "at": rfc3339(said.at)}
            for said in reader.find(MessageRecord, "run_id", turn.run_id)
        ],
        "into": turn.into_run_id, "note": turn.note, "revises": revises,
        "pending": queued_view(run), "at": rfc3339(run.created_at),
    }  # fmt: skip


def text_of(run: RunRecord) -> str:
    """The message that a turn's run was submitted with."""
    given: dict[str, Any] = parsed(run.input)
    return given["text"]


def past_of(
    reader: Reader, conversation: ConversationRecord, *, before: int | None = None, limit: int | None = None
) -> list[tuple[TurnRecord, RunRecord]]:
    """Turns, the newest first: the conversation's own, then those it shares with its parent. `before`: with a smaller n."""
    found: list[tuple[TurnRecord, RunRecord]] = []
    run_id = conversation.head_run_id or conversation.parent_run_id
    while run_id is not None and (limit is None or len(found) < limit):
        turn, run = reader.get(TurnRecord, run_id), reader.get(RunRecord, run_id)
        if turn is None or run is None:
            break
        if before is None or turn.n < before:
            found.append((turn, run))
        run_id = turn.prior_run_id
    return found


def queue_of(reader: Reader, conversation: ConversationRecord) -> list[RunRecord]:
    """The turns that wait for the one at work, the newest first."""
    found: list[RunRecord] = []
    run = None if conversation.head_run_id is None else reader.get(RunRecord, conversation.head_run_id)
    while run is not None and run.after_run_id is not None:
        if not run.state.ended and run.reason == QUEUED and not run.cancel_asked:
            found.append(run)
        run = reader.get(RunRecord, run.after_run_id)
    return found


def _at_work(run: RunRecord) -> dict[str, Any]:
    return {"run_id": run.run_id, "number": run.number, "state": run.state.value, "sentence": run.sentence}


def _parent(reader: Reader, conversation: ConversationRecord) -> dict[str, Any] | None:
    if conversation.parent_id is None or conversation.parent_run_id is None:
        return None
    parent = reader.get(ConversationRecord, conversation.parent_id)
    turn = reader.get(TurnRecord, conversation.parent_run_id)
    return {
        "name": None if parent is None else parent.name, "turn": None if turn is None else turn.n,
        "run_id": conversation.parent_run_id,
    }  # fmt: skip
