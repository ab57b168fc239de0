"""Watch a conversation: a snapshot, then what happens, turn by turn. What a model has answered so far is passed on as it comes."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack
from typing import Any

from counterfoil.app.views.conversation import conversation_view, past_of, turn_view
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.opened import Opened
from counterfoil.engine.partials import Follower, Partial
from counterfoil.engine.writer import Touched
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

POLL_US = 50_000
IN_SNAPSHOT = 50


async def watched(
    opened: Opened, conversation_id: str, position: str | None, idle: bool, until: int | None
) -> AsyncGenerator[dict[str, Any]]:
    """See `Conversations.watch`. It ends when nobody is at work (`idle`), or at the time `until`."""
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def committed(run_ids: Touched) -> None:
        del run_ids
        loop.call_soon_threadsafe(arrived.set)

    opened.listeners.add(committed)
    place = _Place.of(position)
    try:
        with ExitStack() as following:
            follower: Follower | None = None
            while True:
                arrived.clear()
                told = [_partial(piece) for piece in follower.ready()] if follower is not None else []
                with opened.read() as reader:
                    if place is None:
                        place, first = _snapshot(reader, conversation_id)
                        told.append(first)
                    told += list(place.news(reader, conversation_id))
                    at_work = place.at_work(reader)
                if (None if follower is None else follower.run_id) != at_work:
                    following.close()
                    shown = None if at_work is None else opened.partials.following(at_work, arrived)
                    follower = None if shown is None else following.enter_context(shown)
                for item in told:
                    yield item
                if told:
                    continue
                now = opened.clock.now_us()
                if (idle and at_work is None) or (until is not None and until <= now):
                    return
                await opened.clock.wait(arrived, min(until or now + POLL_US, now + POLL_US))
    finally:
        opened.listeners.discard(committed)


class _Place:
    """How far a watcher has come: up to an entry of a turn. The turns are told one after the other, each to its end."""

    def __init__(self, run_id: str | None, sequence: int) -> None:
        self.run_id = run_id
        self.sequence = sequence

    @staticmethod
    def of(text: str | None) -> "_Place | None":
        """Raises Refused(usage)."""
        if text is None:
            return None
        run_id, colon, sequence = text.rpartition(":")
        if not colon or not sequence.removeprefix("-").isdecimal():
            raise Refused("usage", problem=f"{text!r} is no position of a watch")
        return _Place(run_id or None, int(sequence))

    @property
    def text(self) -> str:
        return f"{self.run_id or ''}:{self.sequence}"

    def at_work(self, reader: Reader) -> str | None:
        """The turn that is being told, while it has not ended."""
        run = None if self.run_id is None else reader.get(RunRecord, self.run_id)
        return None if run is None or run.state.ended else run.run_id

    def news(self, reader: Reader, conversation_id: str) -> Iterator[dict[str, Any]]:
        """Entries behind this place, which moves along."""
        while True:
            if self.run_id is not None:
                turn = reader.get(TurnRecord, self.run_id)
                if turn is None:
                    raise Refused("usage", problem=f"{self.text!r} is no position of this conversation")
                for entry in reader.entries(self.run_id, after=self.sequence):
                    self.sequence = entry.sequence
                    yield _told(entry, turn, self.text)
                if self.at_work(reader) is not None:
                    return
            following = _after(reader, conversation_id, self.run_id)
            if following is None:
                return
            self.run_id, self.sequence = following.run_id, -1


def _after(reader: Reader, conversation_id: str, run_id: str | None) -> TurnRecord | None:
    """The conversation's turn behind this one."""
    conversation = reader.get(ConversationRecord, conversation_id)
    if conversation is None or conversation.head_run_id in (None, run_id):
        return None
    newest_first = past_of(reader, conversation, limit=None if run_id is None else conversation.turns)
    behind: TurnRecord | None = None
    for turn, _ in newest_first:
        if turn.run_id == run_id or (run_id is None and turn.conversation_id != conversation_id):
            return behind
        behind = turn
    if run_id is not None:
        raise Refused("usage", problem=f"{run_id!r} is no turn of this conversation")
    return behind


def _snapshot(reader: Reader, conversation_id: str) -> tuple[_Place, dict[str, Any]]:
    conversation = reader.get(ConversationRecord, conversation_id)
    assert conversation is not None, "its id was just found"
    turns = past_of(reader, conversation, limit=IN_SNAPSHOT)
    place = _Place(None, -1)
    for turn, run in reversed(turns):  # up to the turn at work: what is queued behind it is still to come
        place = _Place(turn.run_id, run.sequence)
        if not run.state.ended:
            break
    return place, {
        "type": "snapshot", "position": place.text, "conversation": conversation_view(reader, conversation),
        "turns": [turn_view(reader, turn, run) for turn, run in reversed(turns)],
    }  # fmt: skip


def _told(entry: Entry, turn: TurnRecord, position: str) -> dict[str, Any]:
    return {
        "type": "entry", "position": position, "run_id": entry.run_id, "n": turn.n, "sequence": entry.sequence,
        "kind": entry.kind.value, "name": entry.name, "place": entry.position, "at": rfc3339(entry.at),
        "data": parsed(entry.body)["data"],
    }  # fmt: skip


def _partial(piece: Partial) -> dict[str, Any]:
    return {
        "type": "partial", "provisional": True, "run_id": piece.run_id, "place": piece.position, "text": piece.text
    }  # fmt: skip
