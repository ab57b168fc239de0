"""Ask the receiver about one operation, and record what it showed. Asking needs no authority and no lease."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import BaseModel

from counterfoil.engine.advance import Advanced
from counterfoil.engine.budgets import held_by, shares_of
from counterfoil.engine.definitions import Operation, dumped, loaded, signature_of
from counterfoil.engine.endpoint import endpoint_of
from counterfoil.engine.failures import said
from counterfoil.engine.gate import gated_name
from counterfoil.engine.invoke import invoke_lookup
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.opened import Opened
from counterfoil.engine.receipts import LONGEST_REFERENCE, kept_receipt
from counterfoil.engine.situation import Target, called_of, target_of
from counterfoil.engine.tap import Tap
from counterfoil.model.codec import canonical, digest_of, parsed, storable
from counterfoil.model.contract_parts import Found, Seen
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.receivers.http import LookupUnreachable, Reader
from counterfoil.rules.key_window import key_of

LOOKUP_TIMEOUT_S = 30.0  # one read
LONGEST_LOOKUP_S = 180.0  # all of it, however it reads: user code may have no limit of its own


@dataclass(frozen=True, slots=True)
class OperationAsk:
    """What a lookup function is given."""

    operation_id: str
    key: str | None
    first_sent_at: datetime
    http: Reader


async def ask_receiver(
    opened: Opened, operation: Operation[Any, Any], record: OperationRecord, target: Target, by: str | None = None
) -> Advanced:
    """Run the contract's lookup and record it."""
    seen = await question(opened, operation, record)
    verb = RecordLookup(
        record.run_id, target, seen.asked_at, record.attempts, seen.found, seen.complete, seen.problem, by
    )
    return await opened.write(verb)


@dataclass(frozen=True, slots=True)
class Shown:
    """What a question to the receiver showed. `problem`: why it showed nothing; then nothing is proven."""

    asked_at: int
    found: list[dict[str, Any]]
    complete: bool
    problem: str | None


async def question(opened: Opened, operation: Operation[Any, Any], record: OperationRecord) -> Shown:
    """Run the contract's lookup, and record nothing. An exception of the lookup proves nothing: unreachable.

    Raises Refused(no_lookup, setting_missing, unknown_receiver, invalid_payload).
    """
    lookup = operation.contract.lookup
    if lookup is None or isinstance(lookup.function, str):
        raise Refused("no_lookup", operation_id=record.operation_id)
    endpoint = endpoint_of(opened.registry, operation, opened.environ)
    key = key_of(operation.contract, record, record.key_number)
    first = datetime.fromtimestamp(_first_sent(opened, record) / 1_000_000, UTC)
    reader = Reader(url=endpoint.url, headers=endpoint.headers, timeout_s=LOOKUP_TIMEOUT_S, contract=operation.contract)
    payload = loaded(
        signature_of(operation.function, skip=1).inputs[0][1], parsed(record.payload), where="the stored payload"
    )
    asked_at = opened.clock.now_us()
    found: list[dict[str, Any]] = []
    complete, problem = False, None
    limit = asyncio.timeout(LONGEST_LOOKUP_S)
    try:
        ask = OperationAsk(record.operation_id, key, first, reader)
        async with limit:
            seen = await invoke_lookup(lookup.function, ask, payload)
        found, complete = await _found(opened, operation, seen), seen.complete
    except LookupUnreachable as unreachable:
        problem = str(unreachable) or "unreachable"
    except Exception as failed:
        problem = f"no answer within {LONGEST_LOOKUP_S:g} seconds" if limit.expired() else said(failed)
    return Shown(asked_at, found, complete, problem)


def _first_sent(opened: Opened, record: OperationRecord) -> int:
    """The first attempt of all. A person's new key begins the windows anew, but what came under an old one is still looked for:
    it may have landed after all, and then there are two records."""
    with opened.read() as reader:
        attempts = reader.find(AttemptRecord, "operation_id", record.operation_id)
    known = record.first_sent_at or record.prepared_at
    return min([known, *(attempt.started_at for attempt in attempts)])


async def _found(opened: Opened, operation: Operation[Any, Any], seen: Seen[Any]) -> list[dict[str, Any]]:
    """What was seen, as evidence: reference, digest of the content where it shows, and the typed receipt."""
    result = signature_of(operation.function, skip=1).result
    records: Sequence[Found[Any]] = seen.records
    return [
        {
            "reference": storable(record.receipt.reference)[:LONGEST_REFERENCE],
            "digest": None if record.payload is None else _digest(record.payload),
            "receipt": await kept_receipt(
                opened.artifacts, dumped(result, record.receipt, where="the receipt of a lookup")
            ),
        }
        for record in records
    ]


def _digest(payload: BaseModel) -> str:
    return digest_of(canonical(payload.model_dump(mode="json"), where="the payload of a lookup"))


async def look_up(opened: Opened, operation_id: str, by: str | None = None) -> Advanced:
    """Ask now, from outside a run, for the person `by`. What it shows is ruled on, and wakes the run when it closes the operation."""
    with opened.read() as reader:
        record = reader.get(OperationRecord, operation_id)
    if record is None:
        raise Refused("not_found", what="operation", id=operation_id)
    operation = opened.registry.operations.get(record.name)
    if operation is None:
        raise Refused("no_lookup", operation_id=operation_id)
    return await ask_receiver(opened, operation, record, here(opened, operation, record), by)


def here(opened: Opened, operation: Operation[Any, Any], record: OperationRecord) -> Target:
    """The operation as this process would send it now."""
    endpoint = endpoint_of(opened.registry, operation, opened.environ, opened.session)
    review = operation.review_facts()
    target = target_of(record, endpoint.scope, review, gated_name(opened, record, review_needed=review is not None))
    called = called_of(record)
    with opened.read() as reader:
        run = reader.get(RunRecord, record.run_id)
        calls = [attempt.attempt_id for attempt in reader.find(AttemptRecord, "operation_id", record.operation_id)]
    assert run is not None, "an operation is of a run"
    return replace(
        target,
        shares=shares_of(opened.registry, run, called, opened.clock.now_us()),
        held=held_by(run, calls),
        clock_jump=opened.clock_jumped(),
        approval_scope=endpoint.approval_scope,
        patience_us=operation.patience_us(),
        tap=_tap(opened, record.receiver),
    )


def _tap(opened: Opened, receiver: str) -> Tap | None:
    """The limits of a receiver, as the code at hand declares them. A tool that nobody declared has no receiver."""
    declared = opened.registry.receivers.get(receiver)
    return None if declared is None else Tap(receiver, declared.concurrency, declared.rate, declared.breaker)
