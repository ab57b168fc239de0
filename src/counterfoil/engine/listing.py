"""Ask a receiver for everything that came from us since a time, a stretch at a time."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from counterfoil.engine.adopting import ListedRecord
from counterfoil.engine.definitions import Operation, dumped, signature_of
from counterfoil.engine.endpoint import account_of, endpoint_of
from counterfoil.engine.invoke import invoke_lookup
from counterfoil.engine.opened import Opened
from counterfoil.engine.receipts import LONGEST_REFERENCE, kept_receipt
from counterfoil.engine.reconcile import LONGEST_LOOKUP_S, LOOKUP_TIMEOUT_S
from counterfoil.model.codec import canonical, digest_of, storable
from counterfoil.model.contract_parts import Listed, Stretch
from counterfoil.receivers.http import Reader


@dataclass(frozen=True, slots=True)
class ListAsk:
    """What a listing is given. `after`: what the stretch before said, None for the first."""

    since: datetime
    after: str | None
    http: Reader


async def listed_since(
    opened: Opened, operation: Operation[Any, Any], since_us: int
) -> AsyncIterator[tuple[ListedRecord, ...]]:
    """Each stretch as records to keep; nothing of it is held here. What the listing raises is raised.

    Raises Refused(setting_missing, credential_missing, unknown_receiver).
    """
    lookup = operation.contract.lookup
    assert lookup is not None and callable(lookup.lists), "whoever asks has looked"
    endpoint = endpoint_of(opened.registry, operation, opened.environ)
    since = datetime.fromtimestamp(since_us / 1_000_000, UTC)
    after: str | None = None
    while True:
        reader = Reader(
            url=endpoint.url, headers=endpoint.headers, timeout_s=LOOKUP_TIMEOUT_S, contract=operation.contract
        )
        async with asyncio.timeout(LONGEST_LOOKUP_S):
            stretch: Stretch[Any] = await invoke_lookup(lookup.lists, ListAsk(since, after, reader))
        yield tuple([await _kept(opened, operation, record) for record in stretch.records])
        if stretch.after is None or stretch.after == after:
            return
        after = stretch.after


async def _kept(opened: Opened, operation: Operation[Any, Any], record: Listed[Any]) -> ListedRecord:
    result = signature_of(operation.function, skip=1).result
    receipt = await kept_receipt(opened.artifacts, dumped(result, record.receipt, where="the receipt of a listing"))
    digest, key = None, None
    if record.payload is not None:
        plain = record.payload.model_dump(mode="json")
        digest = digest_of(canonical(plain, where="the payload of a listing"))
        named = operation.key_of(record.payload)
        key = None if named is None else "\x1f".join((account_of(opened.registry, operation), operation.name, named))
    reference = storable(record.receipt.reference)[:LONGEST_REFERENCE]
    return ListedRecord(storable(record.operation_id)[:LONGEST_REFERENCE], reference, digest, receipt, key)
