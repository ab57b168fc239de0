"""Ask about one operation of a restored ledger; what nobody can answer is a person's, with a reason and an owner."""

from enum import StrEnum
from typing import Any

from counterfoil.app.operations import may_ask, target_here
from counterfoil.engine.advance import Advance, Advanced, Then, demanded, then_of
from counterfoil.engine.definitions import Operation
from counterfoil.engine.finish import Park
from counterfoil.engine.opened import Opened
from counterfoil.engine.reconcile import ask_receiver, here
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import owner_facts, owner_of
from counterfoil.model.receipt import LookupRecord
from counterfoil.model.run import BUDGET_REASONS, ParkReason, RunRecord, RunState
from counterfoil.rules.lost_history import answered_since
from counterfoil.store.port import Reader


class Came(StrEnum):
    """What came of one operation."""

    SUCCEEDED = "succeeded"
    FAILED = "failed"
    IN_DOUBT = "in_doubt"
    UNREACHABLE = "unreachable"  # its receiver gave no answer
    ASKED_BEFORE = "asked_before"  # since this restore began: what it showed stands in the record
    NO_CODE = "no_code"  # this process does not know the operation
    NO_LOOKUP = "no_lookup"  # its contract has no question; where it has a key, a repeat after `finish` can tell
    NO_ADDRESS = "no_address"  # this process lacks the address or the credential
    FOLLOWS = "follows"  # another operation carries its intention, and is asked about
    INCIDENT = "incident"  # a person weighs first what the receiver showed


NOT_ASKABLE = (Came.NO_CODE, Came.NO_LOOKUP, Came.NO_ADDRESS, Came.FOLLOWS, Came.INCIDENT)


async def reconciled(opened: Opened, operation_id: str, by: str | None = None) -> tuple[Came, str | None]:
    """Ask, record, rule, and park its run where only a person is left. Also the incident that was opened. Raises StorageError."""
    with opened.read() as reader:
        record = reader.get(OperationRecord, operation_id)
        assert record is not None, "an operation is never deleted"
        known = opened.registry.operations.get(record.name)
        why = _not_askable(known, record)
        if why is None and _asked_before(reader, record):
            why = Came.ASKED_BEFORE
        if why is None and by is not None:
            may_ask(reader, by, record)
    if record.status.closed:
        return Came(record.status.value), None
    if why is Came.FOLLOWS or why is Came.INCIDENT:
        return why, None
    try:
        if why is None and known is not None:
            ruled = await ask_receiver(opened, known, record, await here(opened, known, record), by)
            return await _came_of(opened, ruled, record)
    except Refused as refused:
        if refused.code not in _NO_ADDRESS:
            raise
        why = Came.NO_ADDRESS
    await _stands(opened, await _ruled(opened, known, record))
    return why or Came.IN_DOUBT, None


_NO_ADDRESS = frozenset({"setting_missing", "credential_missing", "unknown_receiver", "invalid_payload"})


def _not_askable(known: Operation[Any, Any] | None, record: OperationRecord) -> Came | None:
    if record.reused_from is not None:
        return Came.FOLLOWS
    if record.incident_id is not None and record.reason == ParkReason.DUPLICATE_FOUND:
        return Came.INCIDENT
    if known is None:
        return Came.NO_CODE
    lookup = known.contract.lookup
    return Came.NO_LOOKUP if lookup is None or isinstance(lookup.function, str) else None


def _asked_before(reader: Reader, record: OperationRecord) -> bool:
    """What the record says is how far an earlier call came, whatever ended it."""
    installation = reader.installation
    looks = reader.find(LookupRecord, "operation_id", record.operation_id)
    return installation is not None and answered_since(looks, installation)


async def _came_of(opened: Opened, ruled: Advanced, before: OperationRecord) -> tuple[Came, str | None]:
    operation = ruled.operation
    if operation.status.closed:
        return Came(operation.status.value), None
    if operation.incident_id != before.incident_id:
        ruled = await opened.write(Advance(operation.run_id, _target(opened, operation)))  # whom it is for
        await _stands(opened, ruled)
        return Came.INCIDENT, operation.incident_id
    await _stands(opened, ruled)
    with opened.read() as reader:
        newest = max(reader.find(LookupRecord, "operation_id", operation.operation_id), key=lambda look: look.n)
    return (Came.UNREACHABLE if newest.result == "unreachable" else Came.IN_DOUBT), None


def _target(opened: Opened, record: OperationRecord) -> Any:
    with opened.read() as reader:
        return target_here(opened, reader, record)


async def _ruled(opened: Opened, known: Operation[Any, Any] | None, record: OperationRecord) -> Advanced:
    """What the table says of it unasked, by an address where there is one."""
    try:
        target = _target(opened, record) if known is None else await here(opened, known, record)
    except Refused:
        target = _target(opened, record)
    return await opened.write(Advance(record.run_id, target))


# ---------------------------------------------------------------------- whose it is now


async def _stands(opened: Opened, ruled: Advanced) -> None:
    """Park its run, unless somebody drives it: that one does so by itself. The end of the restore wakes it."""
    operation, reason = ruled.operation, demanded(ruled) if then_of(ruled) is Then.STAND else None
    if reason is None or operation.status.closed:
        return
    with opened.read() as reader:
        run = reader.get(RunRecord, operation.run_id)
        now = opened.clock.now_us()
    assert run is not None, "an operation is of a run"
    driven = run.state is RunState.RUNNING and (run.lease_until or 0) > now
    if driven or run.state.ended or run.state is RunState.PARKED:
        return
    detail = f"op-{operation.number} ({operation.name}): case {ruled.case.letter}, {ruled.case.sentence}"
    owner = _owner(opened, operation, run, reason)
    await opened.write(Park(run.run_id, None, run.sequence, reason, detail, owner, None, None, None))


def _owner(opened: Opened, operation: OperationRecord, run: RunRecord, reason: ParkReason) -> dict[str, Any]:
    budget_owner: dict[str, Any] = parsed(run.budget)["owner"]
    if reason in BUDGET_REASONS or not operation.owner:
        return budget_owner
    known = opened.registry.operations.get(operation.name)
    who = (known.owner or (known.review.owner if known.review else None)) if known else None
    return owner_facts(owner_of(who or operation.owner))
