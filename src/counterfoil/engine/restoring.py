"""After a restore, or in a copy opened elsewhere: what this database no longer knows may have been sent (rule 20)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted, wake_parked
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.installation import LostRunRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.rules.lost_history import CLONED
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read, Reader
from counterfoil.store.transaction import Transaction

PAGE = 500


@dataclass(frozen=True, slots=True)
class BeginRestore(RunVerb):
    """Suspend sending, raise the incarnation above everything known, and count every open operation as maybe sent.

    `recognised_by`: what the marker's comparison said (behind, missing, moved, rolled, promoted), or "NAME: reason" of a person.
    `outside_incarnation`: the marker's, 0 without one. `operations`: those that were not closed when it was asked for.
    `runs`: whose they are. Those that wait are woken: a review that they waited for is void, and nobody would answer it.
    `newest_at`: when the newest entry was written. Opening a restored ledger may write rows, such as a host that asks to join,
    and each commit moves the ledger's clock; the windows of keys count from what was known before.
    """

    recognised_by: str
    sentence: str = ""
    outside_incarnation: int = 0
    operations: tuple[str, ...] = ()
    by: str | None = None
    runs: tuple[str, ...] = ()
    newest_at: int | None = None
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    def reads(self) -> Sequence[Read]:
        reads = [Read.key(OperationRecord, operation_id) for operation_id in self.operations]
        reads += [Read.key(RunRecord, run_id) for run_id in self.runs]
        reads += [Read.by(ReviewRecord, "operation_id", operation_id) for operation_id in self.operations]
        return [*reads, *acting_reads(self.by)]

    def decide(self, tx: Transaction) -> int:
        """Gives the new incarnation."""
        if self.by is not None:
            permitted(tx, self.by, about_installation(Act.FINISH_RESTORE))
        installation = tx.installation
        incarnation = max(installation.incarnation, self.outside_incarnation) + 1
        head_at = installation.clock_us
        if self.newest_at is not None:
            head_at = min(head_at, self.newest_at)
        if installation.restore_state == "open" and installation.restored_head_at is not None:
            head_at = min(head_at, installation.restored_head_at)  # what the first of both has lost is still not known
        tx.put(
            replace(
                installation,
                incarnation=incarnation,
                restore_state="open",
                restore_reason=self.recognised_by,
                restore_at=tx.now,
                restored_head_at=head_at,
            )
        )
        marked = [
            self._doubted(tx, tx.must(OperationRecord, operation_id), head_at) for operation_id in self.operations
        ]
        for run_id in self.runs:
            if tx.must(RunRecord, run_id).state is RunState.WAITING:
                wake(tx, run_id)
        tx.append(
            self.run_id, EntryKind.RESTORE, name="begun",
            data={
                "recognised_by": self.recognised_by, "sentence": self.sentence, "by": self.by, "incarnation": incarnation,
                "in_doubt": sum(marked),
            },
        )  # fmt: skip
        return incarnation

    def _doubted(self, tx: Transaction, operation: OperationRecord, head_at: int) -> bool:
        if operation.status.closed:
            return False
        for review in tx.find(ReviewRecord, "operation_id", operation.operation_id):
            # Void for attempted operations too: what was used or taken back since the restored head is lost.
            if review.state is ReviewState.OPEN:
                tx.put(replace(review, state=ReviewState.SUPERSEDED, void="restored"))
            elif review.state is ReviewState.APPROVED and review.void is None:
                tx.put(replace(review, void="restored"))
        if not operation.sent:
            tx.put(replace(operation, version=operation.version + 1, sent=1, first_sent_at=head_at))
        return True


@dataclass(frozen=True, slots=True)
class BeginCopy(BeginRestore):
    """The same for a copy opened beside its original, without moving the marker: the original goes on undisturbed."""

    sends: ClassVar[bool] = False


def begin_restore(
    reader: Reader, recognised_by: str, *, sentence: str = "", outside_incarnation: int = 0, by: str | None = None
) -> BeginRestore:
    """The verb for what the marker's comparison said about this database, over all operations that are open in it."""
    installation = reader.installation
    if installation is None:
        raise Refused("not_found", what="installation", id="here")
    open_ = open_operations(reader)
    operations = tuple(operation.operation_id for operation in open_)
    runs = tuple(sorted({operation.run_id for operation in open_}))
    kind = BeginCopy if recognised_by == "copied" else BeginRestore
    newest = reader.upkeep.newest_ordinal()
    newest_at = max((entry.at for entry in reader.figures.stretch(newest - 1, newest)), default=None)
    return kind(
        installation.installation_id, recognised_by, sentence, outside_incarnation, operations, by, runs, newest_at
    )


def open_operations(reader: Reader) -> list[OperationRecord]:
    """Every operation that is prepared, in flight or unknown, by number."""
    found = reader.unresolved()
    before: int | None = None
    while True:
        page = reader.lists.operations(status=OperationStatus.PREPARED.value, before=before, limit=PAGE)
        found += page.items
        before = page.next_cursor
        if before is None:
            return sorted(found, key=lambda operation: operation.number)


@dataclass(frozen=True, slots=True)
class FinishRestore(RunVerb):
    """A person attests that every sender from before is gone. Wakes the `runs` that were parked for it.

    `as_`: restored, moved or clone. `lost`: runs that are named outside and are not here; should one be submitted again, it
    derives the identities that it had. Raises Refused(no_restore).
    """

    as_: str
    by: str
    reason: str
    runs: tuple[str, ...]
    foreign: tuple[str, ...]  # for a clone: the open operations that the original may act on
    lost: tuple[str, ...] = ()
    boundary: ClassVar[str] = "installation.changed"
    sends: ClassVar[bool] = True

    @staticmethod
    def over(
        reader: Reader,
        installation_id: str,
        as_: str,
        by: str,
        reason: str,
        runs: tuple[str, ...],
        named: Iterable[str] = (),
    ) -> "FinishRestore":
        """The verb over what is open now. `named`: the chains whose heads are kept outside."""
        foreign = tuple(o.operation_id for o in open_operations(reader)) if as_ == "clone" else ()
        lost = tuple(each for each in named if each != installation_id and reader.get(RunRecord, each) is None)
        return FinishRestore(installation_id, as_, by, reason, runs, foreign, lost)

    def reads(self) -> Sequence[Read]:
        reads = list(acting_reads(self.by))
        reads += [Read.key(RunRecord, run_id) for run_id in self.runs]
        reads += [Read.key(OperationRecord, operation_id) for operation_id in self.foreign]
        reads += [Read.key(LostRunRecord, run_id) for run_id in self.lost]
        return reads

    def decide(self, tx: Transaction) -> None:
        permitted(tx, self.by, about_installation(Act.FINISH_RESTORE))
        installation = tx.installation
        if installation.restore_state != "open":
            raise Refused("no_restore")
        # Every identity derived before this instant counts as maybe sent, so the time of the restore moves up to it. So does
        # whatever a run derives later that was there by then, and a run that only the outside knows: unless nothing is lost.
        tx.put(
            replace(
                installation,
                restore_state="finished",
                restore_at=tx.now,
                lost_until=installation.lost_until if self.as_ == "moved" else tx.now,
                cloned_at=tx.now if self.as_ == "clone" else installation.cloned_at,
            )
        )
        for run_id in self.lost:
            if tx.get(LostRunRecord, run_id) is None:
                head_at = installation.restored_head_at
                tx.put(LostRunRecord(run_id, tx.now if head_at is None else head_at))
        for operation_id in self.foreign:
            operation = tx.must(OperationRecord, operation_id)
            if not operation.status.closed and operation.withdrawn is None:
                # A copy never acts on an operation that it did not prepare; asking goes on.
                tx.put(replace(operation, version=operation.version + 1, withdrawn=CLONED))
        wake_parked(tx, self.runs, "restored")
        wake_parked(tx, self.runs, "outcome_unknown")  # a run that still has no way is parked again at once
        tx.append(
            self.run_id, EntryKind.RESTORE, name="finished",
            data={
                "as": self.as_, "by": self.by, "reason": self.reason, "incarnation": installation.incarnation,
                "single_person": bool(installation.single_person),
            },
        )  # fmt: skip
