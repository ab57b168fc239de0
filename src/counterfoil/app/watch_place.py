"""How far a watcher of a conversation has come: what is told next, and how a watch goes on behind it elsewhere.

Turns are told one after the other, each from its first entry to its newest. What comes in a turn after the next one began (late
evidence, a resolution, a comment) is told too, between the entries of the turn at work: a place also holds up to which ordinal
of the whole journal that was done.
"""

import re
from collections.abc import Iterator
from typing import Any

from counterfoil.app.views.conversation import past_of
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.partials import Partial
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader

_FORM = re.compile(
    r"(run_[0-9a-v]{23})?:(-1|[0-9]{1,15}):([0-9]{1,15})(?:~([0-9.]{1,200})~([0-9]{1,9})~([0-9]{1,12}))?"
)
_EVERY_ASK = 1 << 62


class WatchPlace:
    """Up to the entry `sequence` of the turn `run_id`, and up to `ordinal` for the turns before it.

    `seen` is the newest piece that was given of what is being answered.
    """

    def __init__(self, run_id: str | None, sequence: int, ordinal: int) -> None:
        self.run_id = run_id
        self.sequence = sequence
        self.ordinal = ordinal
        self.seen: Partial | None = None
        self._over: dict[str, int] | None = None  # by position, the newest question whose end the record tells

    @staticmethod
    def of(text: str) -> "WatchPlace":
        """Raises Refused(usage)."""
        match = _FORM.fullmatch(text)
        if match is None:
            raise Refused("usage", problem=f"{text!r} is no position of a watch")
        place = WatchPlace(match[1], int(match[2]), int(match[3]))
        if match[1] and match[4]:
            place.seen = Partial(match[1], match[4], "", int(match[5]), int(match[6]))
        return place

    @property
    def text(self) -> str:
        """What `of` reads."""
        seen = "" if self.seen is None else f"~{self.seen.position}~{self.seen.ask}~{self.seen.end}"
        return f"{self.run_id or ''}:{self.sequence}:{self.ordinal}{seen}"

    def check(self, reader: Reader, conversation_id: str) -> None:
        """Raises Refused(usage) for a place in another conversation. What a fork shares with its parent is its own, too."""
        turn = None if self.run_id is None else reader.get(TurnRecord, self.run_id)
        if self.run_id is None or (turn is not None and turn.conversation_id == conversation_id):
            return
        conversation = reader.get(ConversationRecord, conversation_id)
        past = [] if conversation is None or turn is None else past_of(reader, conversation)
        if all(before.run_id != self.run_id for before, _ in past):
            raise Refused("usage", problem=f"{self.text!r} is no position of this conversation")

    def at_work(self, reader: Reader) -> str | None:
        """The turn that is being told, while it has not ended."""
        run = None if self.run_id is None else reader.get(RunRecord, self.run_id)
        return None if run is None or run.state.ended else run.run_id

    def is_open(self, piece: Partial) -> bool:
        """Whether the record does not tell yet how that question ended: else the piece is void."""
        return self.run_id == piece.run_id and (self._over or {}).get(piece.position, -1) < piece.ask

    # ------------------------------------------------------------------ what is told

    def news(self, reader: Reader, conversation_id: str) -> Iterator[dict[str, Any]]:
        """Entries behind this place, which moves along: the turn's own, late ones of earlier turns, then the turns behind it."""
        newest = reader.upkeep.newest_ordinal()
        if newest == self.ordinal and self._over is not None:
            return
        yield from self._entries(reader)
        yield from self._late(reader, newest)
        self.ordinal = newest
        if self.at_work(reader) is not None:
            return
        for turn in _behind(reader, conversation_id, self.run_id):
            self.run_id, self.sequence, self.seen, self._over = turn.run_id, -1, None, None
            yield from self._entries(reader)
            if self.at_work(reader) is not None:
                return

    def _late(self, reader: Reader, newest: int) -> Iterator[dict[str, Any]]:
        turn = None if self.run_id is None else reader.get(TurnRecord, self.run_id)
        if turn is None:
            return
        for ordinal, entry in reader.figures.talked(_before(reader, turn), self.ordinal, newest):
            own = reader.get(TurnRecord, entry.run_id)
            assert own is not None, "it is an entry of a turn"
            self.ordinal = ordinal
            yield _told(entry, own, self.text)

    def _entries(self, reader: Reader) -> Iterator[dict[str, Any]]:
        turn = None if self.run_id is None else reader.get(TurnRecord, self.run_id)
        if turn is None:
            self._over = {}
            return
        if self._over is None:  # begun in the middle of a turn, or with it
            begun = reader.entries(turn.run_id) if self.sequence >= 0 else []
            self._over = {}
            for entry in begun:
                if entry.sequence <= self.sequence:
                    self._note(entry)
        for entry in reader.entries(turn.run_id, after=self.sequence):
            self.sequence = entry.sequence
            self._note(entry)
            yield _told(entry, turn, self.text)

    def _note(self, entry: Entry) -> None:
        """What was answered there is saved, or failed: no piece of it is told any more."""
        if entry.position is None or self._over is None:
            return
        if entry.kind is EntryKind.DECISION:
            self._over[entry.position] = _EVERY_ASK
        elif entry.kind is EntryKind.TRY_FAILED:
            self._over[entry.position] = parsed(entry.body)["data"].get("n", -1)
        if self.seen is not None and not self.is_open(self.seen):
            self.seen = None


def _before(reader: Reader, turn: TurnRecord) -> list[tuple[str, int]]:
    """(conversation, number of its last turn) of the turns before this one, through forks into their parents."""
    found = [(turn.conversation_id, turn.n - 1)]
    conversation = reader.get(ConversationRecord, turn.conversation_id)
    while conversation is not None and conversation.parent_run_id is not None:
        point = reader.get(TurnRecord, conversation.parent_run_id)
        if point is None:
            break
        found.append((point.conversation_id, point.n))
        conversation = reader.get(ConversationRecord, point.conversation_id)
    return found


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


def _told(entry: Entry, turn: TurnRecord, position: str) -> dict[str, Any]:
    return {
        "type": "entry", "position": position, "run_id": entry.run_id, "n": turn.n, "sequence": entry.sequence,
        "kind": entry.kind.value, "name": entry.name, "place": entry.position, "at": rfc3339(entry.at),
        "data": parsed(entry.body)["data"],
    }  # fmt: skip
