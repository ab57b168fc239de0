"""A run and an operation as rows, for tests that change one field of them."""

from dataclasses import MISSING, fields
from typing import Any, TypeVar

from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.run import RunRecord, RunState

T = TypeVar("T")
_PLAIN: dict[str, Any] = {
    "str": "",
    "int": 0,
    "bytes": b"",
    "OperationStatus": OperationStatus.PREPARED,
    "RunState": RunState.PENDING,
}


def _row(kind: type[T]) -> T:
    given: dict[str, Any] = {}
    for each in fields(kind):  # type: ignore[arg-type]
        name = each.type if isinstance(each.type, str) else getattr(each.type, "__name__", "")
        given[each.name] = None if each.default is not MISSING else _PLAIN.get(name)
    return kind(**given)


def run() -> RunRecord:
    return _row(RunRecord)


def operation() -> OperationRecord:
    return _row(OperationRecord)
