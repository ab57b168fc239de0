"""`client.reviews` and `client.operations`: what people are asked, and what stands in doubt."""

from base64 import b64encode
from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.operation import Operation
from counterfoil.client.shapes.review import Answered, Review, ReviewSummary


class ClientReviews:
    """A review is named by its id, a unique start of it, or a number such as `rev-3`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, state: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[ReviewSummary]:
        """One part of the list, newest first."""
        return await self._calls.read("/reviews", Page[ReviewSummary], state=state, cursor=cursor, limit=limit)

    def each(self, *, state: str | None = None) -> AsyncIterator[ReviewSummary]:
        """All of the list, part by part."""
        return each_of(self._calls, "/reviews", Page[ReviewSummary], state=state)

    async def show(self, review: str) -> Review:
        """The question with its payload and digest."""
        return await self._calls.read(f"/reviews/{part(review)}", Review)

    async def approve(self, review: str, *, digest: str, comment: str = "") -> Answered:
        """Approve exactly the digest that was seen. Raises Refused: digest_mismatch, review_closed, role_missing."""
        return await self._calls.act(
            f"/reviews/{part(review)}/approve", Answered, {"digest": digest, "comment": comment}
        )

    async def reject(self, review: str, *, digest: str, comment: str = "", ask_revision: bool = False) -> Answered:
        """Reject the digest that was seen. As `approve`."""
        body = {"digest": digest, "comment": comment, "ask_revision": ask_revision}
        return await self._calls.act(f"/reviews/{part(review)}/reject", Answered, body)

    async def withdraw(self, review: str, *, comment: str = "", ask_revision: bool = False) -> Answered:
        """Take an approval back, until the first attempt. Raises Refused(already_sent)."""
        body = {"comment": comment, "ask_revision": ask_revision}
        return await self._calls.act(f"/reviews/{part(review)}/withdraw", Answered, body)


class ClientOperations:
    """An operation is named by its id, a unique start of it, or a number such as `op-3`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(
        self, *, status: str | None = None, receiver: str | None = None, cursor: str | None = None, limit: int = 50
    ) -> Page[Operation]:
        """One part of the list, newest first."""
        return await self._calls.read(
            "/operations", Page[Operation], status=status, receiver=receiver, cursor=cursor, limit=limit
        )

    def each(self, *, status: str | None = None, receiver: str | None = None) -> AsyncIterator[Operation]:
        """All of the list, part by part."""
        return each_of(self._calls, "/operations", Page[Operation], status=status, receiver=receiver)

    async def show(self, operation: str) -> Operation:
        """An operation with its attempts, receipts and approval."""
        return await self._calls.read(f"/operations/{part(operation)}", Operation)

    async def lookup(self, operation: str) -> Operation:
        """Ask the receiver now. Raises Refused(no_lookup)."""
        return await self._calls.act(f"/operations/{part(operation)}/lookup", Operation)

    async def resolve(
        self,
        operation: str,
        *,
        as_: str,
        reason: str,
        evidence: bytes,
        expect_version: int,
        evidence_name: str = "evidence",
        reference: str | None = None,
        new_key: bool = False,
    ) -> Operation:
        """Close a doubt. `as_`: succeeded, failed or send-again; `expect_version`: the operation's as it was seen.

        Raises Refused: stale_version, not_in_doubt, attempt_live, unsafe_repeat, own_action.
        """
        body = {
            "as": as_, "reason": reason, "evidence": b64encode(evidence).decode(), "expect_version": expect_version,
            "evidence_name": evidence_name, "reference": reference, "new_key": new_key,
        }  # fmt: skip
        return await self._calls.act(f"/operations/{part(operation)}/resolve", Operation, body)
