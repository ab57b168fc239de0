"""Verbs about the installation as a whole: people, suspensions, workers. Their entries stand on its own chain."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, check_not_approver, permitted, wake_parked
from counterfoil.engine.restoring import BeginRestore as BeginRestore
from counterfoil.engine.restoring import FinishRestore as FinishRestore
from counterfoil.engine.restoring import begin_restore as begin_restore
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act, ApprovalKeyRecord
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.installation import IncidentRecord, InstallationRecord, SuspensionRecord, WorkerRecord
from counterfoil.model.journal import GENESIS, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.signing import key_id_of
from counterfoil.rules.wishes import about_installation, about_operation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class NewPerson:
    """A person to add. `secret_hash` is what `app.secrets.hashed` gives; the secret itself comes no further."""

    name: str
    roles: tuple[str, ...]
    secret_hash: str
    stand_in_for: str | None = None


@dataclass(frozen=True, slots=True)
class Install(RunVerb):
    """The first commit of a database: `run_id` becomes its installation id. Raises Refused(already_initialised)."""

    name: str
    single_person: bool
    marker_accepted: bool
    people: tuple[NewPerson, ...] = ()
    approval_key: str | None = None
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.all(InstallationRecord), Read.all(PersonRecord), Read.all(ApprovalKeyRecord))

    def decide(self, tx: Transaction) -> InstallationRecord:
        if tx.all(InstallationRecord):
            raise Refused("already_initialised", location=self.name)
        installation = InstallationRecord(
            installation_id=self.run_id, name=self.name, single_person=int(self.single_person),
            marker_accepted=int(self.marker_accepted), incarnation=0, restore_state=None, restore_reason=None, restore_at=None,
            batches=0, rolling=GENESIS, in_flight_batch=0, clock_us=tx.now, created_at=tx.now,
        )  # fmt: skip
        tx.put(installation)
        for person in self.people:
            tx.put(
                PersonRecord(
                    person.name, compact(list(person.roles)), person.secret_hash, person.stand_in_for, tx.now, None
                )
            )
        key_id = None if self.approval_key is None else key_id_of(self.approval_key)
        if key_id is not None and self.approval_key is not None:
            tx.put(ApprovalKeyRecord(key_id, self.approval_key, "init", tx.now, None))
        tx.append(
            self.run_id, EntryKind.INSTALLED, name=self.name,
            data={
                "single_person": self.single_person, "people": [person.name for person in self.people], "approval_key": key_id,
            },
        )  # fmt: skip
        return installation


@dataclass(frozen=True, slots=True)
class AddPerson(RunVerb):
    """One more person. Raises Refused(person_exists), also for a revoked one, and Refused(unknown_person) for the one stood in for."""

    name: str
    roles: tuple[str, ...]
    secret_hash: str
    stand_in_for: str | None = None
    by: str | None = None
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        named = [self.name] if self.stand_in_for is None else [self.name, self.stand_in_for]
        return [*(Read.key(PersonRecord, name) for name in named), *acting_reads(self.by)]

    def decide(self, tx: Transaction) -> PersonRecord:
        if self.by is not None:
            permitted(tx, self.by, about_installation(Act.ADMINISTER))
        # A revoked name is never given out again: what it approved must keep meaning that person.
        if tx.get(PersonRecord, self.name) is not None:
            raise Refused("person_exists", name=self.name)
        if self.stand_in_for is not None and tx.get(PersonRecord, self.stand_in_for) is None:
            raise Refused("unknown_person", name=self.stand_in_for)
        person = PersonRecord(self.name, compact(list(self.roles)), self.secret_hash, self.stand_in_for, tx.now, None)
        tx.put(person)
        tx.append(
            self.run_id,
            EntryKind.PERSON,
            name=self.name,
            data={"added": True, "roles": list(self.roles)} | _said_by(self.by),
        )
        return person


@dataclass(frozen=True, slots=True)
class RevokePerson(RunVerb):
    """From now on this person decides nothing. Approvals are compared with it on every attempt. A second call changes nothing."""

    name: str
    by: str | None = None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True  # it forbids sending: a restored copy must not know less

    def reads(self) -> Sequence[Read]:
        return (Read.key(PersonRecord, self.name), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> PersonRecord:
        if self.by is not None:
            permitted(tx, self.by, about_installation(Act.ADMINISTER))
        person = tx.get(PersonRecord, self.name)
        if person is None:
            raise Refused("unknown_person", name=self.name)
        if person.revoked_at is not None:
            return person
        revoked = replace(person, revoked_at=tx.now)
        tx.put(revoked)
        tx.append(self.run_id, EntryKind.PERSON, name=self.name, data={"revoked": True} | _said_by(self.by))
        return revoked


@dataclass(frozen=True, slots=True)
class SuspendWrites(RunVerb):
    """Stop sending. `scope` is all, receiver:NAME or operation:ID. Takes the right to suspend_writes."""

    scope: str
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(SuspensionRecord, self.scope), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> SuspensionRecord:
        permitted(tx, self.by, about_installation(Act.SUSPEND_WRITES))
        suspended = SuspensionRecord(self.scope, self.reason, self.by, tx.now, None, None)
        tx.put(suspended)
        tx.append(
            self.run_id,
            EntryKind.WRITES,
            name=self.scope,
            data={"suspended": True, "by": self.by, "reason": self.reason},
        )
        return suspended


@dataclass(frozen=True, slots=True)
class ResumeWrites(RunVerb):
    """Lift a suspension, and wake the parked `runs` that it held. Raises Refused(not_suspended)."""

    scope: str
    by: str
    reason: str
    runs: tuple[str, ...] = ()
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        runs = [Read.key(RunRecord, run_id) for run_id in self.runs]
        return (Read.key(SuspensionRecord, self.scope), *acting_reads(self.by), *runs)

    def decide(self, tx: Transaction) -> SuspensionRecord:
        permitted(tx, self.by, about_installation(Act.RESUME_WRITES))
        suspended = tx.get(SuspensionRecord, self.scope)
        if suspended is None or suspended.lifted_at is not None:
            raise Refused("not_suspended", what=self.scope)
        lifted = replace(suspended, lifted_at=tx.now, lifted_by=self.by)
        tx.put(lifted)
        # A woken run that another suspension still holds is parked again by its worker.
        wake_parked(tx, self.runs, "writes_suspended")
        tx.append(
            self.run_id,
            EntryKind.WRITES,
            name=self.scope,
            data={"suspended": False, "by": self.by, "reason": self.reason},
        )
        return lifted


@dataclass(frozen=True, slots=True)
class CloseIncident(RunVerb):
    """A person has weighed what the receiver showed. Its business key is free again, and its run looks at itself again."""

    incident_id: str
    operation_id: str
    by: str
    reason: str
    boundary: ClassVar[str] = "operation.resolved"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.key(IncidentRecord, self.incident_id),
            Read.key(OperationRecord, self.operation_id), Read.by(ReviewRecord, "operation_id", self.operation_id),
            Read.by(AnswerRecord, "run_id", self.run_id), *acting_reads(self.by),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> IncidentRecord:
        incident = tx.must(IncidentRecord, self.incident_id)
        if incident.closed_at is not None:
            raise Refused("incident_closed", incident_id=self.incident_id, by=incident.closed_by)
        self._check_person(tx)
        closed = replace(incident, closed_at=tx.now, closed_by=self.by, reason=self.reason)
        tx.put(closed)
        tx.append(
            self.run_id, EntryKind.INCIDENT_CLOSED,
            data={
                "incident_id": self.incident_id, "operation_id": self.operation_id, "by": self.by, "reason": self.reason,
                "single_person": bool(tx.installation.single_person),
            },
        )  # fmt: skip
        wake(tx, self.run_id)
        return closed

    def _check_person(self, tx: Transaction) -> None:
        run, operation = tx.must(RunRecord, self.run_id), tx.must(OperationRecord, self.operation_id)
        person = permitted(tx, self.by, about_operation(Act.CLOSE_INCIDENT, operation, run))
        check_not_approver(tx, person, self.operation_id, self.run_id)


@dataclass(frozen=True, slots=True)
class RegisterWorker(RunVerb):
    """A process that drives runs: `run_id` is its worker id. Not evidence, so without an entry."""

    host: str
    boot_id: str
    pid: int
    versions: Mapping[str, Any]  # workflow name to version, or versions
    queues: tuple[str, ...] | None = None  # None: it serves all
    boundary: ClassVar[str] = "worker.seen"

    def reads(self) -> Sequence[Read]:
        return (Read.key(WorkerRecord, self.run_id),)

    def decide(self, tx: Transaction) -> WorkerRecord:
        worker = WorkerRecord(
            self.run_id, self.host, self.boot_id, self.pid, compact(dict(self.versions)), tx.now, tx.now, 0, None,
            queues=None if self.queues is None else compact(list(self.queues)),
        )  # fmt: skip
        tx.put(worker)
        return worker


@dataclass(frozen=True, slots=True)
class WorkerSeen(RunVerb):
    """A worker's heartbeat: `run_id` is its worker id. Raises Refused(not_found) for one that was not registered here."""

    draining: bool = False
    boundary: ClassVar[str] = "worker.seen"

    def reads(self) -> Sequence[Read]:
        return (Read.key(WorkerRecord, self.run_id),)

    def decide(self, tx: Transaction) -> None:
        worker = tx.must(WorkerRecord, self.run_id)
        tx.put(replace(worker, seen_at=tx.now, draining=int(self.draining), stopped_at=None))


@dataclass(frozen=True, slots=True)
class WorkerStopped(RunVerb):
    """A worker's orderly end: `run_id` is its worker id."""

    boundary: ClassVar[str] = "worker.seen"

    def reads(self) -> Sequence[Read]:
        return (Read.key(WorkerRecord, self.run_id),)

    def decide(self, tx: Transaction) -> None:
        worker = tx.must(WorkerRecord, self.run_id)
        tx.put(replace(worker, seen_at=tx.now, draining=1, stopped_at=tx.now))


def _said_by(by: str | None) -> dict[str, str]:
    """Who acted, where a person was named."""
    return {} if by is None else {"by": by}
