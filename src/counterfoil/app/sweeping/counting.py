"""Count one operation's records at its receiver. It reads, and sends nothing; what it finds is ruled on by the recovery table."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from counterfoil.app.sweeping.enrolling import MINUTE_US, NAME, PAUSES_US, delay_us
from counterfoil.engine.definitions import Operation
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.opened import Opened
from counterfoil.engine.reconcile import Shown, here, question
from counterfoil.engine.sweeps import KeepSweeps
from counterfoil.model.codec import parsed
from counterfoil.model.delivery import SweepRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord
from counterfoil.rules.evidence import Sighting, judge_sightings
from counterfoil.store.port import Reader

AGAIN_US = 15 * MINUTE_US  # after a receiver that was out of reach


@dataclass(frozen=True, slots=True)
class Counted:
    """What came of it: `sweep` as it is now, and the incident that it opened, if it did."""

    sweep: SweepRecord
    operation: OperationRecord
    incident_id: str | None = None


async def count(opened: Opened, operation: Operation[Any, Any], sweep: SweepRecord) -> Counted:
    """Ask once. What keeps it from asking (no address here, no answer) stands in `problem`. Raises StorageError."""
    with opened.read() as reader:
        record = reader.get(OperationRecord, sweep.operation_id)
    assert record is not None, "a sweep is of an operation"
    try:
        shown = await question(opened, operation, record)
    except Refused as refused:
        shown = Shown(opened.clock.now_us(), [], False, refused.message)
    if shown.problem is not None:
        later = replace(sweep, asked_at=shown.asked_at, next_at=shown.asked_at + AGAIN_US, problem=shown.problem)
        return Counted(await _kept(opened, later), record)
    return await _weighed(opened, operation, record, sweep, shown)


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
    speaks = _speaks(operation, record, shown)
    with opened.read() as reader:
        known = _is_known(reader, record, references)
        note = _whose(reader, record, references)
    if not speaks or known:
        return Counted(await _kept(opened, kept), record)
    if record.status is OperationStatus.SUCCEEDED and "reference" not in operation.contract.counts_as:
        said = f"{len(references)} records, and the contract does not say that each carries our reference"
        return Counted(await _kept(opened, replace(kept, notice=f"{said}: {', '.join(references)}"[:1_000])), record)
    delay = max(delay_us(operation.contract), MINUTE_US)
    seen_since = sweep.since if sweep.since is not None else now
    if "seen_twice" in operation.contract.counts_as and now < seen_since + delay:
        # Once may be the lookup's own doing: it is asked again a lookup delay later, and that counts as the same question.
        return Counted(
            await _kept(opened, replace(kept, asked=sweep.asked, next_at=now + delay, since=seen_since)), record
        )
    await opened.write(
        RecordLookup(
            record.run_id, here(opened, operation, record), now, record.attempts, shown.found, shown.complete, None,
            note=note,
        )
    )  # fmt: skip
    with opened.read() as reader:
        changed = reader.get(OperationRecord, record.operation_id) or record
    incident = changed.incident_id if changed.incident_id != record.incident_id else None
    return Counted(await _kept(opened, kept), changed, incident)


def _speaks(operation: Operation[Any, Any], record: OperationRecord, shown: Shown) -> bool:
    """Whether what was seen speaks against the closing, by the rules that judge every lookup."""
    seen = [Sighting(each["reference"], each["digest"]) for each in shown.found]
    judged = judge_sightings(operation.contract, record.payload_digest, seen)
    return judged == "several" or (judged == "match" and record.status is OperationStatus.FAILED)


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
