"""What a page of a conversation listens to: that something was committed, and what a model of this process is answering now.

What is being written is provisional. A page that comes late is given what was written before, then what comes, under the question
that it answers; nothing of it is stored, and the page drops it as soon as the record says how the question ended. A worker in
another process tells nothing before its decision.
"""

import json
from collections.abc import AsyncGenerator, Iterator
from contextlib import ExitStack

from fastapi import Request
from starlette.responses import StreamingResponse

from counterfoil.app.desk import Desk
from counterfoil.console.live import ALIVE_US, REST_US, RETRY_MS, goes_on, message, streamed
from counterfoil.console.state import Console, console_of
from counterfoil.engine.partials import Follower
from counterfoil.model.errors import Refused

PIECES_US = 80_000  # pieces that come closer together are told as one
_MARK = 16


def one_conversation(request: Request, at: Desk, conversation: str, seen: str) -> StreamingResponse:
    """`changed` when the page's `seen` mark is no longer the record's, `partial` with `{at, text, offset}` as JSON, else `alive`.

    `at` is the id of the place in the page: `writing-RUN-ENTRY`, with the entry of the question. `offset`: so many characters of
    the answer stand before this text. Raises Refused(not_found).
    """
    at.turns.mark(conversation)
    resumed = request.headers.get("Last-Event-ID", "")
    known = resumed if len(resumed) == _MARK else seen
    return streamed(_Listening(console_of(request), at, conversation, known).messages(request))


class _Listening:
    def __init__(self, console: Console, at: Desk, conversation: str, seen: str) -> None:
        self._console, self._at, self._conversation, self._seen = console, at, conversation, seen
        self._opened = console.app.open()
        self._writing: _Writing | None = None

    async def messages(self, request: Request) -> AsyncGenerator[str]:
        clock, closing = self._opened.clock, self._console.closing
        rests_until = 0
        async with self._console.changes.of_any() as following:
            with ExitStack() as stack:
                yield f"retry: {RETRY_MS}\n\n{message('alive')}"
                while await goes_on(request, self._console):
                    mark, at_work = self._now()
                    if (None if self._writing is None else self._writing.follower.run_id) != at_work:
                        stack.close()
                        self._writing = None
                        if at_work is not None:
                            follower = stack.enter_context(self._opened.partials.following(at_work, following.arrived))
                            self._writing = _Writing(self._at, follower)
                    for told in () if self._writing is None else self._writing.news():
                        yield told
                    now = clock.now_us()
                    if mark != self._seen and now >= rests_until:
                        self._seen, rests_until = mark, now + REST_US
                        yield message("changed", mark)
                    until = rests_until if mark != self._seen else now + ALIVE_US
                    if await following.wait(closing, until):
                        await clock.wait(closing, clock.now_us() + PIECES_US)
                    elif mark == self._seen:
                        yield message("alive")

    def _now(self) -> tuple[str, str | None]:
        """The mark and the run at work, as far as the person may still see them."""
        try:
            return self._at.turns.mark(self._conversation)
        except Refused:
            return self._seen, None


class _Writing:
    """The pieces of one run, each under the newest question at its position."""

    def __init__(self, at: Desk, follower: Follower) -> None:
        self.follower = follower
        self._at = at
        self._asked: dict[str, int] = {}
        self._read = -1

    def news(self) -> Iterator[str]:
        pieces = self.follower.ready()
        if not pieces or not self._questions():
            return
        for piece in pieces:
            if piece.position in self._asked:
                place = f"writing-{self.follower.run_id}-{self._asked[piece.position]}"
                said = {"at": place, "text": piece.text, "offset": piece.offset}
                yield message("partial", data=json.dumps(said))

    def _questions(self) -> bool:
        """Read on. False where the person may not read what the model answers."""
        try:
            found = self._at.turns.asked_since(self.follower.run_id, self._read)
        except Refused:
            return False
        if found is None:
            return False
        asked, self._read = found
        self._asked |= asked
        return True
