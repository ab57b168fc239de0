"""Turns of conversations with all that their journals tell: what the pages of conversations are made of."""

import hashlib
from typing import Any

from counterfoil.app.conversations import conversation_of
from counterfoil.app.views.conversation import past_of, queue_of, text_of, turn_view
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.run import run_view
from counterfoil.app.views.shown import Shown
from counterfoil.app.views.turn import said_in_turn
from counterfoil.engine.admission import seen_of
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

WATCHED = 20  # the newest turns, whose every entry is news to who reads the conversation


def turn_in_full(opened: Opened, run_id: str) -> list[dict[str, Any]]:
    """The items of a turn: see `said_in_turn`. Raises Refused(not_found)."""
    with opened.read() as reader:
        run = reader.get(RunRecord, run_id)
        if run is None:
            raise Refused("not_found", what="run", id=run_id)
        return said_in_turn(reader, run, opened.artifacts.whole)


def turn_told(opened: Opened, run_id: str) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
    """(TURN, its RUN, its items: see `said_in_turn`), from one snapshot. Raises Refused(not_found)."""
    with opened.read() as reader:
        turn, run = reader.get(TurnRecord, run_id), reader.get(RunRecord, run_id)
        if turn is None or run is None:
            raise Refused("not_found", what="turn", id=run_id)
        items = said_in_turn(reader, run, opened.artifacts.whole)
        return turn_view(reader, turn, run), run_view(Shown.of(opened, reader), run), items


def place_of(reader: Reader, run_id: str) -> dict[str, Any] | None:
    """`{conversation_id, number, name, agent, n, into}` of a run that is a turn, else None. `into`: the run that read a steer."""
    turn = reader.get(TurnRecord, run_id)
    own = None if turn is None else reader.get(ConversationRecord, turn.conversation_id)
    if turn is None or own is None:
        return None
    return {
        "conversation_id": own.conversation_id, "number": own.number, "name": own.name, "agent": own.agent, "n": turn.n,
        "into": turn.into_run_id,
    }  # fmt: skip


def waiting_in(reader: Reader, conversation: ConversationRecord) -> list[dict[str, Any]]:
    """Messages behind the turn at work, the next one first: `[{run_id, number, text, steer, at}]`. `steer`: for the turn at work."""
    return [
        {
            "run_id": run.run_id, "number": run.number, "text": text_of(run), "steer": _is_steer(reader, run),
            "at": rfc3339(run.created_at),
        }
        for run in reversed(queue_of(reader, conversation))
    ]  # fmt: skip


def _is_steer(reader: Reader, run: RunRecord) -> bool:
    begun = reader.entries(run.run_id, limit=1)
    return bool(begun) and parsed(begun[0].body)["data"].get("as") == "steer"


def newest_in(reader: Reader, conversation: ConversationRecord) -> dict[str, Any] | None:
    """`{run_id, number, n, state, reason, sentence, updated_at}` of the newest turn, None before the first."""
    past = past_of(reader, conversation, limit=1)
    if not past or past[0][0].conversation_id != conversation.conversation_id:
        return None
    turn, run = past[0]
    return {
        "run_id": run.run_id, "number": run.number, "n": turn.n, "state": run.state.value, "reason": run.reason,
        "sentence": run.sentence, "updated_at": rfc3339(run.updated_at),
    }  # fmt: skip


def mark_of(reader: Reader, conversation: str) -> tuple[str, str | None]:
    """(a mark that changes with all that a page of the conversation shows, the run at work). Raises Refused(not_found)."""
    record = conversation_of(reader, conversation)
    shown = [record.next_kind.value, str(record.settings_version), record.agent, str(record.turns)]
    shown += [f"{run.run_id}:{run.sequence}" for _, run in past_of(reader, record, limit=WATCHED)]
    digest = hashlib.sha256("\x1f".join(shown).encode()).hexdigest()[:16]
    return digest, seen_of(reader, record.conversation_id).at_work


def asked_since(reader: Reader, run_id: str, after: int) -> tuple[dict[str, int], int]:
    """({position: entry of its newest question}, the newest entry) behind an entry of a run."""
    entries = reader.entries(run_id, after=after)
    asked = {entry.position or "": entry.sequence for entry in entries if entry.kind is EntryKind.ASKED}
    return asked, entries[-1].sequence if entries else after
