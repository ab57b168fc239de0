"""A receiver of the simulation: what it holds is the truth. Plain Python, and it knows nothing of the ledger's rules."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

SECOND_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Habits:
    """How one action of a receiver treats a second request, and what its list shows. Times in seconds."""

    key: bool = False
    window: float = 240.0
    saves: frozenset[int] = frozenset({2, 4, 5})  # the first digit of the answers kept under a key
    other_body: str = "rejects"  # or replays
    lock_timeout: float | None = None  # a key in use lets a second request through after so long
    chosen_id: bool = False  # PUT makes the object of an id, once
    lookup: bool = False
    lag: float = 0.0  # a new record does not show for so long


@dataclass(frozen=True, slots=True)
class Request:
    """What arrives. `reference` is the operation id that the ledger stamps; no receiver here decides by it."""

    method: str
    path: str
    key: str | None
    reference: str
    body: Mapping[str, Any]
    params: Mapping[str, str]

    @property
    def action(self) -> str:
        """The first part of the path: which action of the receiver."""
        return self.path.strip("/").split("/")[0]

    @property
    def content(self) -> str:
        """The body's text, to be compared."""
        return json.dumps(self.body, sort_keys=True)


@dataclass(frozen=True, slots=True)
class Reply:
    """What goes back."""

    status: int
    body: Mapping[str, Any]
    replayed: bool = False


@dataclass(slots=True)
class Record:
    """One effect."""

    id: str
    action: str
    reference: str
    key: str | None
    body: dict[str, Any]
    at_us: int
    shown_us: int
    edited: bool = False


@dataclass(slots=True)
class _Key:
    content: str
    began_us: int
    reply: Reply | None = None


@dataclass(slots=True)
class Work:
    """A request that the receiver has begun to carry out."""

    request: Request
    key: _Key | None


@dataclass(slots=True)
class Receiver:
    """One receiver with all its actions. `begin` when a request arrives, `end` when its work is done."""

    habits: Mapping[str, Habits]
    records: list[Record] = field(default_factory=lambda: [])
    requests: int = 0
    _keys: dict[str, _Key] = field(default_factory=lambda: {})

    def begin(self, request: Request, now_us: int) -> Reply | Work:
        """The answer to a repeat, or work that has begun."""
        self.requests += 1
        habits = self.habits[request.action]
        name = f"{request.action} {request.key}"
        known = self._keys.get(name) if habits.key and request.key is not None else None
        if known is not None and now_us - known.began_us < habits.window * SECOND_US:
            repeat = self._repeat(habits, known, request, now_us)
            if repeat is not None:
                return repeat
        entry = None
        if habits.key and request.key is not None:
            entry = self._keys[name] = _Key(request.content, now_us)
        return Work(request, entry)

    def end(self, work: Work, now_us: int, *, status: int = 201, copies: int = 1) -> Reply:
        """Have the effect, unless the status is a refusal; the answer, which is kept under the key where that is so.

        `copies`: how many records one request leaves at a receiver that breaks its promise.
        """
        request = work.request
        habits = self.habits[request.action]
        reply = Reply(status, {"error": "refused" if status < 500 else "broken"})
        if status // 100 != 4:
            found = self._same(request) if habits.chosen_id else None
            if found is not None and json.dumps(found.body, sort_keys=True) != request.content:
                return Reply(409, {"error": "exists"})
            record = found or self._add(request, habits, now_us)
            for _ in range(copies - 1):
                self._add(request, habits, now_us)
            reply = Reply(status, {"id": record.id, **record.body}) if status < 400 else reply
        if work.key is not None:
            # An answer that is not kept leaves the key unknown: the next request under it acts again.
            work.key.reply = reply
            if reply.status // 100 not in habits.saves:
                self._forget(work.key)
        return reply

    def look(self, request: Request, now_us: int) -> Reply:
        """The list: what shows by now of one reference."""
        habits = self.habits[request.action]
        if not habits.lookup:
            return Reply(405, {"error": "no list"})
        shown = [
            {"id": record.id, **record.body}
            for record in self.records
            if (record.action, record.reference) == (request.action, request.params.get("reference"))
            and record.shown_us <= now_us
        ]
        return Reply(200, {"data": shown})

    def forget_keys(self) -> None:
        """The store of keys is lost."""
        self._keys.clear()

    def held_for(self, operation_id: str) -> list[Record]:
        """Every record of one operation, shown by lists or not yet."""
        return [record for record in self.records if record.reference == operation_id]

    def _repeat(self, habits: Habits, known: _Key, request: Request, now_us: int) -> Reply | None:
        if known.content != request.content and habits.other_body == "rejects":
            return Reply(422, {"error": "key_mismatch"})
        if known.reply is None:
            lock = habits.lock_timeout
            let_go = lock is not None and now_us - known.began_us >= lock * SECOND_US
            return None if let_go else Reply(409, {"error": "in_progress"})
        return Reply(known.reply.status, known.reply.body, replayed=True)

    def _same(self, request: Request) -> Record | None:
        place = request.path.strip("/").split("/")[-1]
        return next((each for each in self.records if (each.action, each.id) == (request.action, place)), None)

    def _add(self, request: Request, habits: Habits, now_us: int) -> Record:
        place = request.path.strip("/").split("/")[-1]
        chosen = habits.chosen_id and self._same(request) is None
        record = Record(
            id=place if chosen else f"{request.action}-{len(self.records) + 1}",
            action=request.action,
            reference=request.reference,
            key=request.key,
            body=dict(request.body),
            at_us=now_us,
            shown_us=now_us + round(habits.lag * SECOND_US),
        )
        self.records.append(record)
        return record

    def _forget(self, entry: _Key) -> None:
        for name, known in tuple(self._keys.items()):
            if known is entry:
                del self._keys[name]
