"""Duties: what the installation does by itself. A lease lets one process carry out each; every act of a duty is harmless twice."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import SessionRecord
from counterfoil.model.duty import DutyRecord, NoticeRecord
from counterfoil.model.installation import WorkerRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def is_due(known: DutyRecord | None, now: int, *, every_us: int, lease_us: int, gone: str | None = None) -> bool:
    """Its time has come, and nobody holds it. `gone`: a holder that is proven dead, whose lease is over.

    A time further ahead than anybody can have set it is of a clock that was put back since: it would hold for years.
    """
    if known is None:
        return True
    waits, held = known.next_at - now, (known.lease_until or 0) - now
    return not (0 < waits <= every_us or (0 < held <= lease_us and known.holder != gone))


@dataclass(frozen=True, slots=True)
class TakeDuty(RunVerb):
    """`run_id` is the duty's name. Gives the duty, or None when it is not due or another holds it.

    `at` is the clock of who takes it, not the ledger's, which stands still while the clock is behind what was stored:
    duties are no evidence, and must go on meanwhile.
    """

    holder: str
    at: int
    every_us: int
    lease_us: int
    gone: str | None = None
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(DutyRecord, self.run_id),)

    def decide(self, tx: Transaction) -> DutyRecord | None:
        known = tx.get(DutyRecord, self.run_id) or DutyRecord(self.run_id, None, None, None, None, None, 0, 0)
        if not is_due(known, self.at, every_us=self.every_us, lease_us=self.lease_us, gone=self.gone):
            return None
        taken = replace(known, holder=self.holder, lease_until=self.at + self.lease_us, started_at=self.at)
        tx.put(taken)
        return taken


@dataclass(frozen=True, slots=True)
class DutyDone(RunVerb):
    """The holder has carried it out, or could not: `problem` says why. `mark` None leaves how far it came."""

    holder: str
    at: int
    problem: str | None
    again_us: int  # after so long it is due again
    mark: int | None = None
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return (Read.key(DutyRecord, self.run_id),)

    def decide(self, tx: Transaction) -> bool:
        duty = tx.must(DutyRecord, self.run_id)
        if duty.holder != self.holder:
            return False  # its lease ended, and another has it
        tx.put(
            replace(
                duty,
                lease_until=None,
                succeeded_at=self.at if self.problem is None else duty.succeeded_at,
                problem=self.problem,
                next_at=self.at + self.again_us,
                mark=duty.mark if self.mark is None else self.mark,
            )
        )
        return True


@dataclass(frozen=True, slots=True)
class KeepNotices(RunVerb):
    """Store notices that are new, or that a try has changed. `run_id` is the duty's name. Gives how many were new."""

    notices: tuple[NoticeRecord, ...]
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return [Read.key(NoticeRecord, notice.notice_id) for notice in self.notices]

    def decide(self, tx: Transaction) -> int:
        new = 0
        for notice in self.notices:
            known = tx.get(NoticeRecord, notice.notice_id)
            # One that is told already is not told again; a try that another process made stands.
            if known is None or (known.sent_at is None and notice.tries > known.tries):
                tx.put(notice)
                new += known is None
        return new


@dataclass(frozen=True, slots=True)
class Sweep(RunVerb):
    """Delete rows that are no evidence and of no use any more. `run_id` is the duty's name. Gives how many."""

    sessions: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    workers: tuple[str, ...] = ()
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        return ()

    def decide(self, tx: Transaction) -> int:
        for session in self.sessions:
            tx.drop(SessionRecord, session)
        for notice in self.notices:
            tx.drop(NoticeRecord, notice)
        for worker in self.workers:
            tx.drop(WorkerRecord, worker)
        return len(self.sessions) + len(self.notices) + len(self.workers)
