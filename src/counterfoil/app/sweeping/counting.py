"""Count one operation's records at its receiver. It reads, and sends nothing; what it finds is ruled on by the recovery table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from counterfoil.app.sweeping.enrolling import DAY_US, MINUTE_US, NAME, PAUSES_US
from counterfoil.engine.definitions import Operation
from counterfoil.engine.failures import said
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.opened import Opened
from counterfoil.engine.reconcile import Shown, here, question
from counterfoil.engine.sweeps import KeepSweeps
from counterfoil.model.codec import parsed
from counterfoil.model.delivery import SweepRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.witness import Witnessed, second_look, weigh
from counterfoil.store.port import Reader, StorageError

AGAIN_US = 15 * MINUTE_US  # after a receiver that was out of reach, and after a question that could not be put


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of it: `sweep` as it is now, and the incident that it opened, if it did.

    `out_of_reach`: the receiver gave no answer. Any other `problem` is this operation's own.
    """

    sweep: SweepRecord
    operation: OperationRecord
    incident_id: str | None = None
    out_of_reach: bool = False


async def count(
    opened: Opened, operation: Operation[Any, Any], sweep: SweepRecord, before: Callable[[], None] | None = None
) -> Counted:
    """Ask once. What keeps it from being counted (no credential here, no answer, a payload that this code does not take)
    stands in `problem`. `before`: as of a question. Raises StorageError."""
    with opened.read() as reader:
        record = reader.get(OperationRecord, sweep.operation_id)
    assert record is not None, "a sweep is of an operation"
    try:
        shown = await question(opened, operation, record, before)
        if shown.problem is None:
            return await _weighed(opened, operation, record, sweep, shown)
    except StorageError:
        raise
    except Exception as cannot:  # of this operation alone: the others of its receiver are counted
        problem = cannot.message if isinstance(cannot, Refused) else said(cannot)
        shown = Shown(opened.clock.now_us(), [], False, problem)
    later = replace(sweep, asked_at=shown.asked_at, next_at=shown.asked_at + AGAIN_US, problem=shown.problem)
    return Counted(await _kept(opened, later), record, out_of_reach=shown.out_of_reach)


async def too_long(opened: Opened, sweep: SweepRecord) -> Counted:
    """One question that needs more than a whole minute's requests. It is tried again tomorrow, should the rate be another then."""
    with opened.read() as reader:
        record = reader.get(OperationRecord, sweep.operation_id)
    assert record is not None, "a sweep is of an operation"
    now = opened.clock.now_us()
    problem = "its lookup needs more requests than COUNTERFOIL_SWEEP_PER_MINUTE allows in a minute"
    return Counted(await _kept(opened, replace(sweep, asked_at=now, next_at=now + DAY_US, problem=problem)), record)


async def _weighed(
    opened: Opened, operation: Operation[Any, Any], record: OperationRecord, sweep: SweepRecord, shown: Shown
) -> Counted:
    """More than one record, or one of what we hold as failed. Too little for an incident is a notice."""
    references = sorted({str(each["reference"]) for each in shown.found})
    asked = sweep.asked + 1
    pause = PAUSES_US[asked - 1] if asked <= len(PAUSES_US) else None
    now = shown.asked_at
    next_at = None if pause is None else now + pause
    kept = replace(
        sweep, asked=asked, asked_at=now, next_at=next_at, count=len(references), problem=None, notice=None, since=None
    )
    with opened.read() as reader:
        known = _is_known(reader, record, references)
        note = _whose(reader, record, references)
        ours = {receipt.reference for receipt in reader.find(ReceiptRecord, "operation_id", record.operation_id)}
    contract, seen_since = operation.contract, now if sweep.since is None else sweep.since
    seen = [Witnessed(each["reference"], each["digest"], each.get("by")) for each in shown.found]
    weighed = weigh(contract, record.status, record.payload_digest, seen, ours, now - seen_since)
    if known or weighed.result == "fits":
        return Counted(await _kept(opened, kept), record)
    if weighed.result == "notice":
        notice = f"{weighed.why}: {', '.join(references)}"[:1_000]
        return Counted(await _kept(opened, replace(kept, notice=notice)), record)
    if weighed.result == "again":  # as the same question
        later = now + second_look(contract) // timedelta(microseconds=1)
        return Counted(await _kept(opened, replace(kept, asked=sweep.asked, next_at=later, since=seen_since)), record)
    await opened.write(
        RecordLookup(
            record.run_id, await here(opened, operation, record), now, record.attempts, shown.found, shown.complete, None,
            note=note,
        )
    )  # fmt: skip
    with opened.read() as reader:
        changed = reader.get(OperationRecord, record.operation_id) or record
    incident = changed.incident_id if changed.incident_id != record.incident_id else None
    return Counted(await _kept(opened, kept), changed, incident)


def _is_known(reader: Reader, record: OperationRecord, references: Sequence[str]) -> bool:
    """Whether an earlier look has shown these very records: a person weighs them once."""
    return record.incident_id is not None and any(
        {str(each["reference"]) for each in parsed(lookup.found)} >= set(references)
        for lookup in reader.find(LookupRecord, "operation_id", record.operation_id)
    )


def _whose(reader: Reader, record: OperationRecord, references: Sequence[str]) -> str:
    """The run, the person behind it, and whose receipt each record is, in words."""
    run = reader.get(RunRecord, record.run_id)
    reviews = reader.find(ReviewRecord, "operation_id", record.operation_id)
    approved = [review.reviewer for review in reviews if review.state is ReviewState.APPROVED and review.reviewer]
    person = f"approved by {approved[-1]}" if approved else f"owned by {record.owner}"
    number = "?" if run is None else run.number
    said = [f"{each} ({_receipt_of(reader, each)})" for each in references]
    return f" A sweep counts {len(references)} for op-{record.number} of run-{number}, {person}: {', '.join(said)}."


def _receipt_of(reader: Reader, reference: str) -> str:
    receipts = reader.find(ReceiptRecord, "reference", reference)
    owners = [reader.get(OperationRecord, each) for each in sorted({receipt.operation_id for receipt in receipts})]
    named = ", ".join(f"op-{owner.number}" for owner in owners if owner is not None)
    return f"receipt of {named}" if named else "no receipt of ours"


async def _kept(opened: Opened, sweep: SweepRecord) -> SweepRecord:
    await opened.write(KeepSweeps(NAME, (sweep,)))
    return sweep
