"""Quieting one worker: it takes up nothing more and hands over what it drives, and its process stays."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import RunVerb
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused
from counterfoil.model.installation import WorkerRecord
from counterfoil.model.journal import EntryKind
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class QuietWorker(RunVerb):
    """`run_id` is the installation's id. Whoever may stop sending may quiet a worker; whoever may let it go on, wake it.

    Raises Refused(not_found, not_permitted, worker_stopped).
    """

    worker_id: str
    hush: bool  # else it is woken; `quiet` says something else of a verb
    by: str
    reason: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(WorkerRecord, self.worker_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> WorkerRecord:
        worker = tx.must(WorkerRecord, self.worker_id)
        permitted(tx, self.by, Wish(Act.SUSPEND_WRITES if self.hush else Act.RESUME_WRITES))
        if worker.stopped_at is not None:
            raise Refused("worker_stopped", worker_id=self.worker_id)
        changed = replace(worker, quiet=int(self.hush))
        tx.put(changed)
        tx.append(
            self.run_id,
            EntryKind.WORKER,
            name=self.worker_id,
            data={"quiet": self.hush, "by": self.by, "reason": self.reason},
        )
        return changed
