"""`client.inbox`: what needs a person, tending one thing, and moving many by filter."""

from collections.abc import AsyncIterator
from typing import Any, Literal

from counterfoil.client.calls import Calls, each_of, given, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.tending import CarriedOut, InboxCounts, InboxItem, InboxThing, Preview

BulkAct = Literal["lookup", "resume", "cancel", "hand-over"]


class ClientInbox:
    """A thing is named by its subject: the id of a review, a run or an incident.

    The filters `owner`, `workflow`, `receiver`, `reason`, `text` are texts; `mine` and `snoozed` are true or false.
    """

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, *, cursor: str | None = None, limit: int = 50, **wanted: str | bool) -> Page[InboxItem]:
        """One part of the list, the earliest deadline first."""
        return await self._calls.read("/inbox", Page[InboxItem], cursor=cursor, limit=limit, **wanted)

    def each(self, **wanted: str | bool) -> AsyncIterator[InboxItem]:
        """All of the list, part by part."""
        return each_of(self._calls, "/inbox", Page[InboxItem], **wanted)

    async def counts(self, *, mine: bool = False) -> InboxCounts:
        """How many things wait, by reason."""
        return await self._calls.read("/inbox/counts", InboxCounts, mine=mine)

    async def show(self, subject: str) -> InboxThing:
        """One thing with what was said about it. Raises Refused(not_waiting) once it needs nobody."""
        return await self._calls.read(f"/inbox/{part(subject)}", InboxThing)

    async def take(self, subject: str) -> InboxThing:
        """Say: I work on this. Raises Refused(taken)."""
        return await self._act(subject, "take")

    async def let_go(self, subject: str, *, snooze: bool = False) -> InboxThing:
        """Nobody works on it any more; with `snooze`: it is no longer put off."""
        return await self._act(subject, "let-go", snooze=snooze)

    async def hand_over(self, subject: str, *, to: str) -> InboxThing:
        """Give it to a person or a role."""
        return await self._act(subject, "hand-over", to=to)

    async def comment(self, subject: str, *, text: str) -> InboxThing:
        """Say something about it."""
        return await self._act(subject, "comment", text=text)

    async def snooze(self, subject: str, *, until: str, reason: str) -> InboxThing:
        """Put it off. `until`: RFC 3339, or a time from now (30m, 4h, 1d), before its deadline."""
        return await self._act(subject, "snooze", until=until, reason=reason)

    async def preview(self, act: BulkAct, **wanted: str | bool) -> Preview:
        """What `carry_out` would move. Nothing is moved."""
        return await self._calls.act("/inbox/preview", Preview, {"act": act, "wanted": wanted})

    async def carry_out(
        self, seen: Preview, *, reason: str = "", to: str | None = None, **wanted: str | bool
    ) -> CarriedOut:
        """Move what the preview showed. Raises Refused(selection_changed) when other things fit the same filter by now."""
        body = {
            "act": seen.act, "count": seen.count, "digest": seen.digest, "reason": reason, "to": to, "wanted": wanted
        }  # fmt: skip
        return await self._calls.act("/inbox/carry-out", CarriedOut, given(body))

    async def _act(self, subject: str, verb: str, **body: Any) -> InboxThing:
        return await self._calls.act(f"/inbox/{part(subject)}/{verb}", InboxThing, body or None)
