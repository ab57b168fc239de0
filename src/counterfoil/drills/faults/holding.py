"""A process held at a boundary, and what the ledger and the receiver say of the write that is about to leave it."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from counterfoil.drills.case import NotApplied, Planned
from counterfoil.drills.learning import Learned, Passed
from counterfoil.drills.outside import Outside, SandboxPart
from counterfoil.drills.stage import LIFE, Stage
from counterfoil.model.codec import parsed
from counterfoil.model.contract import Contract
from counterfoil.model.ids import KeyFormat, encode_key
from counterfoil.model.installation import ContractRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.testing.children import Child, ChildFailed

SENDS = ("operation.first_byte",)
Row = TypeVar("Row")


@dataclass(frozen=True, slots=True)
class Held:
    """A frozen child, the operation that it is about to send, and the receiver of it."""

    child: Child
    operation: OperationRecord
    contract: Contract
    outside: Outside

    def writes(self) -> list[dict[str, Any]]:
        """The writes of this operation that have reached the receiver, in order."""
        return [line for line in self.outside.writes() if self._mine(line)]

    def records(self) -> list[dict[str, Any]]:
        """What the receiver holds of this operation."""
        return [record for record in self.outside.records() if self._mine(record)]

    def _mine(self, line: dict[str, Any]) -> bool:
        marks = {line.get("reference"), line.get("key")} - {None}
        # What carries neither our id nor a key may be this operation's: the receiver cannot say.
        return not marks or bool(marks & marks_of(self.operation, self.contract))


def sends(learned: Learned) -> Iterator[Passed]:
    """Every hit at which something was sent, in order."""
    return learned.at(*SENDS)


def held(stage: Stage, planned: Planned, at: str, function: str = LIFE, **arguments: Any) -> Held:
    """A child that stands still at a boundary of sending. Raises NotApplied when it does not come there."""
    child = stopped(stage, at, function, **arguments)
    operation = sending(stage, planned.operation)
    if operation is None:
        raise NotApplied(f"At {at} no operation is about to be sent.")
    return Held(child, operation, contract_of(stage, operation), stage.receivers[operation.receiver])


def stopped(stage: Stage, at: str, function: str = LIFE, **arguments: Any) -> Child:
    """A child that has frozen itself at a boundary: /proc says so. Raises NotApplied."""
    child = stage.start(function, freeze_at=at, **arguments)
    wait_stopped(child, at)
    return child


def wait_stopped(child: Child, at: str) -> None:
    """Until a child stands still. Raises NotApplied when it ends instead."""
    try:
        child.wait_stopped()
    except ChildFailed as failed:
        raise NotApplied(f"Nobody stood still at {at}: {failed}") from failed
    if child.process_state() != "T":
        raise NotApplied(f"Process {child.pid} is in state {child.process_state()}, not stopped.")


def ended(child: Child) -> list[str]:
    """Wait for a child's own end; what is wrong with it, if it is."""
    child.wait()
    return [] if child.exit_code == 0 else [f"A worker ended with wait status {child.status}: {child.wrote()[-2000:]}"]


# ---------------------------------------------------------------------- the receiver


def marks_of(operation: OperationRecord, contract: Contract) -> frozenset[str]:
    """What tells a write or a record of this operation: its id, and the keys that it may have carried."""
    numbers = range(operation.key_number + 2) if contract.key is not None else ()
    form = contract.key.format if contract.key is not None else KeyFormat.TEXT
    return frozenset(
        {operation.operation_id, *(encode_key(operation.operation_id, number, form) for number in numbers)}
    )


def struck(stage: Stage, first: Held, fault: str) -> tuple[Held, dict[str, Any]]:
    """What the fault met, and the line of the receiver's own log that shows it. Raises NotApplied when there is none.

    Of operations that are sent side by side another one may come first: then it is about that one.
    """
    line = next((line for line in first.outside.writes() if line.get("fault") == fault), None)
    if line is None:
        raise NotApplied(f"The receiver's log shows no write under {fault}.")
    return about(stage, first, line), line


def about(stage: Stage, first: Held, line: dict[str, Any]) -> Held:
    """The operation whose write this line is; where the line carries no name, the one that was thought of."""
    marks = {line.get("reference"), line.get("key")} - {None}
    for operation in rows(stage, OperationRecord) if marks else ():
        contract = contract_of(stage, operation)
        if marks & marks_of(operation, contract):
            return replace(first, operation=operation, contract=contract)
    return first


def let_pass(stage: Stage, duration: timedelta) -> None:
    """Time passes: for the children, for the stand-ins that follow the clock of the case, and where a receiver has its own."""
    stage.clock.advance(duration)
    for outside in stage.receivers.values():
        if not isinstance(outside, SandboxPart):
            outside.post("clock", {"advance_seconds": duration.total_seconds()})


# ---------------------------------------------------------------------- the ledger


def rows(stage: Stage, table: type[Row]) -> list[Row]:
    """All rows of a table, as they are stored."""
    with stage.ledger.reader() as reader:
        return list(reader.rows(table))  # pyright: ignore[reportArgumentType]


def row(stage: Stage, table: type[Row], key: str) -> Row:
    """One row that must be there."""
    with stage.ledger.reader() as reader:
        found: Row | None = reader.get(table, key)  # pyright: ignore[reportArgumentType, reportAssignmentType]
    if found is None:
        raise NotApplied(f"There is no {table.__name__} {key}.")
    return found


def entries(stage: Stage, run_id: str) -> list[Entry]:
    """A run's journal."""
    with stage.ledger.reader() as reader:
        return reader.entries(run_id)


def claims(stage: Stage, run_id: str) -> list[dict[str, Any]]:
    """Who took the run up, in order: {worker, fence}, from the journal."""
    started = [parsed(entry.body)["data"] for entry in entries(stage, run_id) if entry.kind is EntryKind.STARTED]
    return [{"worker": data["worker"], "fence": data["fence"]} for data in started]


def sending(stage: Stage, name: str | None) -> OperationRecord | None:
    """The newest operation of this name (None: of any) that is not closed."""
    found = [o for o in rows(stage, OperationRecord) if not o.status.closed and name in (None, o.name)]
    return max(found, key=lambda operation: operation.number, default=None)


def again(stage: Stage, operation: OperationRecord) -> OperationRecord:
    """The operation as it is now."""
    return row(stage, OperationRecord, operation.operation_id)


def contract_of(stage: Stage, operation: OperationRecord) -> Contract:
    """The contract under which it was prepared."""
    return Contract.from_stored(parsed(row(stage, ContractRecord, operation.contract_digest).body))
