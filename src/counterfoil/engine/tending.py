"""Tending: people take what waits for them, hand it over, put it off, and speak about it. It decides nothing.

A wait has a beginning and a deadline, and so has the thing that waits: what was done with an earlier wait no longer holds.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import INCIDENT_US, CommentRecord, TendingRecord, untended
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.moments import rfc3339
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.rules.authority import roles_of
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Wait:
    """What one thing waits for a person with: since when, until when, in microseconds, and whom it names."""

    since: int
    deadline: int
    operation: OperationRecord | None
    roles: frozenset[str]


@dataclass(frozen=True, slots=True)
class Tend(RunVerb):
    """What the verbs below share. `subject` is a review, a run or an incident of the run, by id; `by` is a person."""

    subject: str
    by: str
    boundary: ClassVar[str] = "installation.changed"
    record: ClassVar[str]  # how the journal calls it

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.key(ReviewRecord, self.subject), Read.key(IncidentRecord, self.subject),
            Read.by(OperationRecord, "run_id", self.run_id), Read.key(TendingRecord, self.subject),
            Read.by(CommentRecord, "subject", self.subject), *acting_reads(self.by),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> None:
        wait = waiting(tx, self.run_id, self.subject)
        operation = None if wait.operation is None else wait.operation.name
        run = tx.must(RunRecord, self.run_id)
        permitted(tx, self.by, Wish(Act.TEND, run.workflow, operation, roles=wait.roles))
        known = tx.get(TendingRecord, self.subject) or untended(self.subject, self.run_id)
        said = self._tended(tx, wait, known)
        if said is not None:
            facts = {"subject": self.subject, "by": self.by, **said}
            tx.append(self.run_id, EntryKind.TENDED, name=self.record, data=facts)

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        """Put the rows; give what the entry says besides. None: it is so already."""
        raise AssertionError("each verb tends in its own way")


@dataclass(frozen=True, slots=True)
class Take(Tend):
    """Say: I work on this. Raises Refused(taken) while somebody else does."""

    record: ClassVar[str] = "taken"

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        holder = holder_of(tx, wait, known)
        if holder == self.by:
            return None
        if holder is not None and holder not in _roles(tx, self.by):
            raise Refused("taken", subject=self.subject, by=holder, at=rfc3339(known.taken_at))
        tx.put(replace(known, taken_by=self.by, taken_at=tx.now))
        return {}


@dataclass(frozen=True, slots=True)
class HandOver(Tend):
    """Give it to a person or a role, from whoever has it. Raises Refused(unknown_owner) for somebody who is nobody."""

    to: str
    record: ClassVar[str] = "handed_over"

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        if not any(self.to in roles_of(each) for each in tx.all(PersonRecord) if each.revoked_at is None):
            raise Refused("unknown_owner", where="The hand-over", owner=self.to)
        holder = holder_of(tx, wait, known)
        if holder == self.to:
            return None
        tx.put(replace(known, taken_by=self.to, taken_at=tx.now))
        return {"from": holder, "to": self.to}


@dataclass(frozen=True, slots=True)
class Snooze(Tend):
    """Put it off, with a reason, until its deadline at the latest; it comes back by itself. Raises Refused(snooze_too_long)."""

    until: int
    reason: str
    record: ClassVar[str] = "snoozed"

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        if not tx.now < self.until <= wait.deadline:
            raise Refused("snooze_too_long", subject=self.subject, now=rfc3339(tx.now), deadline=rfc3339(wait.deadline))
        tx.put(
            replace(known, snoozed_at=tx.now, snoozed_until=self.until, snoozed_by=self.by, snooze_reason=self.reason)
        )
        return {"until": self.until, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class LetGo(Tend):
    """The reversal: nobody has it any more, or with `snooze` it is no longer put off. Raises Refused(not_tended)."""

    snooze: bool
    record: ClassVar[str] = "let_go"

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        if self.snooze:
            if not snoozed(known, wait, tx.now):
                raise Refused("not_tended", subject=self.subject, what="put off")
            tx.put(replace(known, snoozed_at=None, snoozed_until=None, snoozed_by=None, snooze_reason=None))
            return {"what": "snooze"}
        holder = holder_of(tx, wait, known)
        if holder is None:
            raise Refused("not_tended", subject=self.subject, what="taken")
        tx.put(replace(known, taken_by=None, taken_at=None))
        return {"what": "take", "from": holder}


@dataclass(frozen=True, slots=True)
class Comment(Tend):
    """Say something about it, for the next who looks."""

    text: str
    record: ClassVar[str] = "commented"

    def _tended(self, tx: Transaction, wait: Wait, known: TendingRecord) -> dict[str, str | int | None] | None:
        n = len(tx.find(CommentRecord, "subject", self.subject))
        comment_id = ids.derived("com", self.subject, str(n))
        tx.put(CommentRecord(comment_id, self.subject, self.run_id, self.by, self.text, tx.now))
        return {"comment_id": comment_id, "text": self.text}


def waiting(tx: Transaction, run_id: str, subject: str) -> Wait:
    """The wait that a subject stands for now. Raises Refused(not_waiting) for what needs nobody any more."""
    run = tx.must(RunRecord, run_id)
    operations = {each.operation_id: each for each in tx.find(OperationRecord, "run_id", run_id)}
    owners = {run.owner, run.owner_then}
    review, incident = tx.get(ReviewRecord, subject), tx.get(IncidentRecord, subject)
    if review is not None and review.state is ReviewState.OPEN:
        named = _names(review.role, review.owner, review.owner_then)
        return Wait(review.opened_at, review.expires_at, operations.get(review.operation_id), named)
    if incident is not None and incident.closed_at is None:
        operation = operations.get(incident.operation_id)
        named = _names(*owners, None if operation is None else operation.owner)
        return Wait(incident.opened_at, incident.opened_at + INCIDENT_US, operation, named)
    if subject == run_id and run.deadline_at is not None and not run.state.ended:
        named = _names(*owners, *(each.owner for each in operations.values()))
        operation = next((each for each in operations.values() if not each.status.closed), None)
        if run.state is RunState.PARKED:
            since = run.updated_at if run.waiting_since is None else run.waiting_since
            return Wait(since, run.deadline_at, operation, named)
        if run.deadline_at <= tx.now:
            return Wait(run.deadline_at, run.deadline_at, operation, named)
    raise Refused("not_waiting", subject=subject)


def holder_of(tx: Transaction, wait: Wait, known: TendingRecord) -> str | None:
    """Who works on it in this wait; a person who was revoked works on nothing."""
    if known.taken_by is None or known.taken_at is None or known.taken_at < wait.since:
        return None
    person = next((each for each in tx.all(PersonRecord) if each.name == known.taken_by), None)
    return None if person is not None and person.revoked_at is not None else known.taken_by


def snoozed(known: TendingRecord, wait: Wait, now: int) -> bool:
    """Whether it is put off now, in this wait."""
    return (
        known.snoozed_at is not None
        and known.snoozed_at >= wait.since
        and known.snoozed_until is not None
        and known.snoozed_until > now
    )


def _roles(tx: Transaction, name: str) -> frozenset[str]:
    person = next((each for each in tx.all(PersonRecord) if each.name == name), None)
    return frozenset[str]() if person is None else roles_of(person)


def _names(*names: str | None) -> frozenset[str]:
    return frozenset(name for name in names if name)
