"""Watch a conversation: a snapshot, then what happens, turn by turn. What a model has answered so far is passed on as it comes."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import ExitStack
from typing import Any

from counterfoil.app.views.conversation import conversation_view, past_of, turn_view
from counterfoil.app.watch_place import WatchPlace
from counterfoil.engine.opened import Opened
from counterfoil.engine.partials import Follower, Partial
from counterfoil.engine.writer import Touched
from counterfoil.model.conversation import ConversationRecord
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

    place = None if position is None else WatchPlace.of(position)
    if place is not None:
        with opened.read() as reader:
            place.check(reader, conversation_id)
    opened.listeners.add(committed)
    try:
        with ExitStack() as following:
            follower: Follower | None = None
            while True:
                arrived.clear()
                pieces = follower.ready() if follower is not None and place is not None else []
                told: list[dict[str, Any]] = []
                with opened.read() as reader:
                    if place is None:
                        place, first = _snapshot(reader, conversation_id)
                        told.append(first)
                    told += [_partial(place, piece) for piece in pieces if place.is_open(piece)]
                    told += list(place.news(reader, conversation_id))
                    at_work = place.at_work(reader)
                if (None if follower is None else follower.run_id) != at_work:
                    following.close()
                    shown = None if at_work is None else opened.partials.following(at_work, arrived, seen=place.seen)
                    follower = None if shown is None else following.enter_context(shown)
                    arrived.set()  # what was answered before is given at once
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


def _snapshot(reader: Reader, conversation_id: str) -> tuple[WatchPlace, dict[str, Any]]:
    conversation = reader.get(ConversationRecord, conversation_id)
    assert conversation is not None, "its id was just found"
    turns = past_of(reader, conversation, limit=IN_SNAPSHOT)
    newest = reader.upkeep.newest_ordinal()
    place = WatchPlace(None, -1, newest)
    for turn, run in reversed(turns):  # up to the turn at work: what is queued behind it is still to come
        place = WatchPlace(turn.run_id, run.sequence, newest)
        if not run.state.ended:
            break
    return place, {
        "type": "snapshot", "position": place.text, "conversation": conversation_view(reader, conversation),
        "turns": [turn_view(reader, turn, run) for turn, run in reversed(turns)],
    }  # fmt: skip


def _partial(place: WatchPlace, piece: Partial) -> dict[str, Any]:
    place.seen = piece
    return {
        "type": "partial", "provisional": True, "position": place.text, "run_id": piece.run_id, "place": piece.position,
        "ask": piece.ask, "offset": piece.offset, "text": piece.text,
    }  # fmt: skip
