"""`desk.operations`."""

from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskOperations:
    """As `app.operations`; what is not readable is not_found."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.operations

    def list(
        self, *, status: str | None = None, receiver: str | None = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items: [OPERATION], next_cursor}`, newest first."""
        return self._noun.list(status=status, receiver=receiver, cursor=cursor, limit=limit)

    def show(self, operation: str) -> dict[str, Any]:
        """OPERATION."""
        return self._noun.show(operation)

    async def lookup(self, operation: str) -> dict[str, Any]:
        """Ask the receiver now. OPERATION as it is then."""
        return await self._noun.lookup(operation)

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
    ) -> dict[str, Any]:
        """Close a doubt, in the person's name. Gives OPERATION."""
        return await self._noun.resolve(
            operation, as_=as_, by=self._sight.actor, reason=reason, evidence=evidence, expect_version=expect_version,
            evidence_name=evidence_name, reference=reference, new_key=new_key,
        )  # fmt: skip
