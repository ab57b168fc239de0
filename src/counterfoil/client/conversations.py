"""`client.conversations`: what was said to agents, and saying more."""

from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.conversation import Aborted, Conversation, ConversationShown, Sent


class ClientConversations:
    """A conversation is named by its id, by `conversation-3`, or by its name."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def send(
        self, text: str, *, conversation: str, request_id: str, agent: str | None = None, when_busy: str | None = None
    ) -> Sent:
        """Send a message; a new name begins a conversation with `agent`. The same request id with the same content is one message.

        `when_busy`: reject, follow_up or steer. Raises Refused: conversation_busy, request_conflict, other_agent, not_found.
        """
        body = {
            "text": text, "conversation": conversation, "request_id": request_id, "agent": agent, "when_busy": when_busy
        }  # fmt: skip
        return await self._calls.act("/conversations", Sent, body)

    async def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[Conversation]:
        """One part of the list, newest first."""
        return await self._calls.read("/conversations", Page[Conversation], cursor=cursor, limit=limit)

    def each(self) -> AsyncIterator[Conversation]:
        """All of the list, part by part."""
        return each_of(self._calls, "/conversations", Page[Conversation])

    async def show(self, conversation: str, *, cursor: str | None = None, limit: int = 50) -> ConversationShown:
        """A conversation with its newest turns; `cursor` is `transcript.next_cursor` and leads to those before."""
        return await self._calls.read(
            f"/conversations/{part(conversation)}", ConversationShown, cursor=cursor, limit=limit
        )

    async def revise(self, conversation: str, *, reason: str) -> Sent:
        """Have the newest answer revised. Raises Refused(nothing_to_revise, conversation_busy)."""
        return await self._calls.act(f"/conversations/{part(conversation)}/revise", Sent, {"reason": reason})

    async def abort(self, conversation: str, *, reason: str = "", queued: bool = False) -> Aborted:
        """Cancel the turn at work; with `queued`, what waits for it, too. Raises Refused(nobody_at_work)."""
        body = {"reason": reason, "queued": queued}
        return await self._calls.act(f"/conversations/{part(conversation)}/abort", Aborted, body)
