"""The gate's verbs: a drill is registered, a person waives one, or takes that back. What they let go on is woken."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted, wake_parked
from counterfoil.engine.opened import Opened
from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import Act
from counterfoil.model.drill import Covered, DrillRecord, Rehearsal, WaiverRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.moments import rfc3339
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules import gate
from counterfoil.rules.gate import LONGEST_WAIVER_US, covered
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def gated_name(opened: Opened, operation: OperationRecord, *, review_needed: bool) -> str | None:
    """The operation's name where its sending needs a drill, else None. The stricter of record and code counts."""
    receiver = opened.registry.receivers.get(operation.receiver)
    environments = {operation.environment} | (set[str]() if receiver is None else {receiver.environment})
    needs = gate.unattended(opened.gate, environments, review_needed=review_needed)
    return operation.name if needs else None


def send_of(operation: OperationRecord, run: RunRecord) -> Covered:
    """What must be covered before this operation is sent."""
    return Covered(operation.name, operation.contract_digest, run.workflow, run.workflow_version)


def gate_reads(operation: str) -> tuple[Read, ...]:
    """What `uncovered` looks at."""
    return (Read.by(DrillRecord, "operation", operation), Read.by(WaiverRecord, "operation", operation))


def uncovered(tx: Transaction, send: Covered) -> bool:
    """Whether neither a drill nor a waiver covers it now. `reads` must hold `gate_reads(send.operation)`."""
    drills = tx.find(DrillRecord, "operation", send.operation)
    waivers = tx.find(WaiverRecord, "operation", send.operation)
    return not covered(send, drills, waivers, tx.now)


@dataclass(frozen=True, slots=True)
class WakeHeld(RunVerb):
    """Wake the `runs` that are parked because sending is stopped. One that is still held is parked again by its worker."""

    runs: tuple[str, ...] = ()
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return [Read.key(RunRecord, run_id) for run_id in self.runs]

    def decide(self, tx: Transaction) -> None:
        wake_parked(tx, self.runs, ParkReason.WRITES_SUSPENDED)
        tx.append(self.run_id, EntryKind.DRILL, name="woken", data={"runs": len(self.runs)})


@dataclass(frozen=True, slots=True)
class RegisterDrill(RunVerb):
    """A passing drill counts from now on, for each operation that it covers. Raises Refused(drill_not_passed)."""

    rehearsal: Rehearsal
    by: str | None
    runs: tuple[str, ...] = ()
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        drills = [
            Read.key(DrillRecord, each.operation, each.contract_digest, each.workflow, each.workflow_version)
            for each in self.rehearsal.covers
        ]
        return [*drills, *(Read.key(RunRecord, run_id) for run_id in self.runs), *acting_reads(self.by)]

    def decide(self, tx: Transaction) -> list[DrillRecord]:
        if self.by is not None:
            permitted(tx, self.by, about_installation(Act.RESUME_WRITES))
        problem = gate.why_not(self.rehearsal)
        if problem is not None:
            raise Refused("drill_not_passed", target=self.rehearsal.target, problem=problem)
        registered = [self._record(each, tx.now) for each in self.rehearsal.covers]
        for each in registered:
            tx.put(each)
        wake_parked(tx, self.runs, ParkReason.WRITES_SUSPENDED)
        tx.append(
            self.run_id, EntryKind.DRILL, name=self.rehearsal.target,
            data={
                "registered": sorted({each.operation for each in self.rehearsal.covers}), "by": self.by,
                "target_digest": self.rehearsal.target_digest, "seed": self.rehearsal.seed,
                "cases": [[case.case_id, case.verdict] for case in self.rehearsal.cases],
            },
        )  # fmt: skip
        return registered

    def _record(self, covers: Covered, now: int) -> DrillRecord:
        verdicts = [case.verdict for case in self.rehearsal.cases]
        return DrillRecord(
            covers.operation, covers.contract_digest, covers.workflow, covers.workflow_version, self.rehearsal.target,
            self.rehearsal.target_digest, self.rehearsal.seed, len(verdicts), verdicts.count("pass"),
            verdicts.count("not_applicable"), verdicts.count("not_run"), self.by, now,
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class AddWaiver(RunVerb):
    """A person lets an operation be sent without a drill until `ends_at`. Raises Refused(waiver_end) for an end that is none."""

    operation: str
    by: str
    reason: str
    ends_at: int
    runs: tuple[str, ...] = ()
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        runs = [Read.key(RunRecord, run_id) for run_id in self.runs]
        return [Read.key(WaiverRecord, self.operation), *runs, *acting_reads(self.by)]

    def decide(self, tx: Transaction) -> WaiverRecord:
        permitted(tx, self.by, about_installation(Act.RESUME_WRITES))
        latest = tx.now + LONGEST_WAIVER_US
        if not tx.now < self.ends_at <= latest:
            raise Refused("waiver_end", until=rfc3339(self.ends_at), now=rfc3339(tx.now), latest=rfc3339(latest))
        waiver = WaiverRecord(self.operation, self.reason, self.by, tx.now, self.ends_at, None, None)
        tx.put(waiver)
        wake_parked(tx, self.runs, ParkReason.WRITES_SUSPENDED)
        said = {"waived": True, "by": self.by, "reason": self.reason, "until": self.ends_at}
        tx.append(self.run_id, EntryKind.WAIVER, name=self.operation, data=said)
        return waiver


@dataclass(frozen=True, slots=True)
class RevokeWaiver(RunVerb):
    """From now on the waiver covers nothing. It forbids sending, so the outside marker follows. Raises Refused(no_waiver)."""

    operation: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return [Read.key(WaiverRecord, self.operation), *acting_reads(self.by)]

    def decide(self, tx: Transaction) -> WaiverRecord:
        permitted(tx, self.by, about_installation(Act.SUSPEND_WRITES))
        waiver = tx.get(WaiverRecord, self.operation)
        if waiver is None or not gate.stands(waiver, tx.now):
            raise Refused("no_waiver", operation=self.operation)
        revoked = replace(waiver, revoked_at=tx.now, revoked_by=self.by)
        tx.put(revoked)
        said = {"waived": False, "by": self.by, "reason": self.reason}
        tx.append(self.run_id, EntryKind.WAIVER, name=self.operation, data=said)
        return revoked
