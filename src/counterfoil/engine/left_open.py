"""What is prepared and not closed, page by page: after a restore it may be all that a lost stretch had in hand."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext

from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.store.port import Reader

PAGE = 500
# What is asked about becomes unknown: in this order nothing is met twice.
OPEN = (OperationStatus.UNKNOWN, OperationStatus.IN_FLIGHT, OperationStatus.PREPARED)


def open_pages(
    snapshot: Callable[[], AbstractContextManager[Reader]], receiver: str | None = None
) -> Iterator[list[OperationRecord]]:
    """At most PAGE operations at once, each page from a snapshot of its own: no transaction is open while somebody is asked."""
    for status in OPEN:
        before: int | None = None
        while True:
            with snapshot() as reader:
                page = reader.lists.operations(status=status.value, receiver=receiver, before=before, limit=PAGE)
            if page.items:
                yield page.items
            if page.next_cursor is None:
                break
            before = page.next_cursor


def pages_of(reader: Reader) -> Iterator[list[OperationRecord]]:
    """The same in one snapshot."""
    return open_pages(lambda: nullcontext(reader))


def open_operations(reader: Reader) -> list[OperationRecord]:
    """Every operation that is prepared, in flight or unknown, by number."""
    found = [operation for page in pages_of(reader) for operation in page]
    return sorted(found, key=lambda operation: operation.number)
