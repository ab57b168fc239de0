"""`desk.operations`."""

from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.app.desk.withheld import operation_withheld
from counterfoil.model.access import Act
from counterfoil.rules.wishes import about_operation


class DeskOperations:
    """As `app.operations`. What the person may not see is not_found; records of a kind that is not read are withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.operations

    def list(
        self, *, status: str | None = None, receiver: str | None = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items: [OPERATION], next_cursor}`, newest first, where the person sees."""
        with self._sight.look() as look:
            places = look.filter_places
        page = self._noun.list(status=status, receiver=receiver, places=places, cursor=cursor, limit=limit)
        with self._sight.look() as look:  # a later snapshot than the list's: it holds whatever the list holds
            items = [operation_withheld(look, *look.operation_of(each["operation_id"]), each) for each in page["items"]]
            return page | {"items": items}

    def show(self, operation: str) -> dict[str, Any]:
        """OPERATION. Raises Refused(not_found, ambiguous_id)."""
        with self._sight.look() as look:
            record, run = look.operation(operation)
        view = self._noun.show(record.operation_id)
        with self._sight.look() as look:
            return operation_withheld(look, record, run, view)

    async def lookup(self, operation: str) -> dict[str, Any]:
        """Ask the receiver now. OPERATION as it is then."""
        operation_id = self._may(operation, Act.LOOKUP)
        await self._noun.lookup(operation_id, by=self._sight.actor)
        return self.show(operation_id)

    async def resolve(
        self,
        operation: str,
        *,
        as_: str,
        reason: str,
        evidence: bytes | str,
        expect_version: int,
        evidence_name: str = "evidence",
        reference: str | None = None,
        new_key: bool = False,
    ) -> dict[str, Any]:
        """Close a doubt, in the person's name. Gives OPERATION."""
        operation_id = self._may(operation, Act.RESOLVE)
        await self._noun.resolve(
            operation_id, as_=as_, by=self._sight.actor, reason=reason, evidence=evidence, expect_version=expect_version,
            evidence_name=evidence_name, reference=reference, new_key=new_key,
        )  # fmt: skip
        return self.show(operation_id)

    def _may(self, operation: str, act: Act) -> str:
        with self._sight.look() as look:
            record, run = look.operation(operation)
            look.must(about_operation(act, record, run))
        return record.operation_id
