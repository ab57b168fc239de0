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

    place = _Place.of(position)
    if place is not None:
        with opened.read() as reader:
            place.check(reader, conversation_id)
    opened.listeners.add(committed)
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

    def check(self, reader: Reader, conversation_id: str) -> None:
        """Raises Refused(usage) for a place in another conversation. What a fork shares with its parent is its own, too."""
        turn = None if self.run_id is None else reader.get(TurnRecord, self.run_id)
        if self.run_id is None or (turn is not None and turn.conversation_id == conversation_id):
            return
        conversation = reader.get(ConversationRecord, conversation_id)
        past = [] if conversation is None or turn is None else past_of(reader, conversation)
        if all(before.run_id != self.run_id for before, _ in past):
            raise Refused("usage", problem=f"{self.text!r} is no position of this conversation")

    @property
    def text(self) -> str:
        return f"{self.run_id or ''}:{self.sequence}"

    def at_work(self, reader: Reader) -> str | None:
        """The turn that is being told, while it has not ended."""
        run = None if self.run_id is None else reader.get(RunRecord, self.run_id)
        return None if run is None or run.state.ended else run.run_id

    def news(self, reader: Reader, conversation_id: str) -> Iterator[dict[str, Any]]:
        """Entries behind this place, which moves along."""
        yield from self._entries(reader)
        if self.at_work(reader) is not None:
            return
        for turn in _behind(reader, conversation_id, self.run_id):
            self.run_id, self.sequence = turn.run_id, -1
            yield from self._entries(reader)
            if self.at_work(reader) is not None:
                return

    def _entries(self, reader: Reader) -> Iterator[dict[str, Any]]:
        turn = None if self.run_id is None else reader.get(TurnRecord, self.run_id)
        if turn is None:
            return
        for entry in reader.entries(turn.run_id, after=self.sequence):
            self.sequence = entry.sequence
            yield _told(entry, turn, self.text)


def _behind(reader: Reader, conversation_id: str, run_id: str | None) -> list[TurnRecord]:
    """The conversation's own turns behind this one, oldest first; all of them behind none, and behind a fork's past."""
    conversation = reader.get(ConversationRecord, conversation_id)
    found: list[TurnRecord] = []
    at = None if conversation is None else conversation.head_run_id
    while at is not None and at != run_id:
        turn = reader.get(TurnRecord, at)
        if turn is None or (run_id is None and turn.conversation_id != conversation_id):
            break
        found.append(turn)
        at = turn.prior_run_id
    return found[::-1]


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
