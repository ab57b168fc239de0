"""The facts of one operation as they are now, from a snapshot: the question that a verb asks, without the verb."""

from typing import Any, TypeVar, cast

from counterfoil.app.operations import target_here
from counterfoil.engine.opened import Opened
from counterfoil.engine.situation import situation_in
from counterfoil.model.errors import Refused
from counterfoil.model.installation import ContractRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.rules.situation import Situation
from counterfoil.store.port import Part, Reader
from counterfoil.store.transaction import Transaction

T = TypeVar("T")


class _Snapshot:
    """A snapshot with the looking half of a transaction, so that both ask the same question of the same rows."""

    def __init__(self, reader: Reader, now: int) -> None:
        self._reader = reader
        self.now = now
        found = reader.installation
        assert found is not None, "an opened database has an installation"
        self.installation = found

    def get(self, table: type[T], *key: Part) -> T | None:
        return self._reader.get(table, *key)

    def must(self, table: type[T], *key: Part) -> T:
        row = self.get(table, *key)
        if row is None:
            raise Refused("not_found", what=table.__name__, id=" ".join(map(str, key)))
        return row

    def find(self, table: type[T], index: str, value: Part) -> list[T]:
        return self._reader.find(table, index, value)

    def all(self, table: type[T]) -> list[T]:
        return list(self._reader.rows(table))


def situation_now(opened: Opened, reader: Reader, operation: OperationRecord) -> Situation | None:
    """What the table would be asked about this operation now; None where its contract or run is not in this database."""
    if reader.get(ContractRecord, operation.contract_digest) is None:
        return None
    looking: Any = _Snapshot(reader, opened.clock.now_us())
    try:
        return situation_in(cast("Transaction", looking), target_here(opened, reader, operation), operation=operation)
    except Refused:
        return None
