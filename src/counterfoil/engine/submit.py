"""Submit a run: the same request id with the same content finds it, for ever."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model.access import Act
from counterfoil.model.codec import compact
from counterfoil.model.errors import Refused
from counterfoil.model.installation import LostRunRecord
from counterfoil.model.journal import GENESIS, EntryKind
from counterfoil.model.run import RUN_SENTENCES, RunRecord, RunState
from counterfoil.rules.lost_history import began, is_the_originals, maybe_lost
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


def run_of(tx: Transaction, run_id: str) -> RunRecord | None:
    """The run of a request id. What has ended still answers for it, for ever."""
    return tx.get(RunRecord, run_id)


def begun_reads(run_id: str, parent_run_id: str | None) -> tuple[Read, ...]:
    """What beginning a run looks at."""
    reads = (Read.key(RunRecord, run_id), Read.key(LostRunRecord, run_id))
    return reads if parent_run_id is None else (*reads, Read.key(RunRecord, parent_run_id))


@dataclass(frozen=True, slots=True)
class Submit(RunVerb):
    """Gives `new` or `existing`. Raises Refused(request_conflict) for other content under a known request id."""

    workflow: str
    version: int
    request_id: str
    input: str
    input_digest: str
    budget: dict[str, Any]
    deadlines: Deadlines
    parent_run_id: str | None = None
    parent_position: str | None = None
    by: str | None = None  # the person who submits it, where one is named
    boundary: ClassVar[str] = "run.submitted"

    def reads(self) -> Sequence[Read]:
        return (*begun_reads(self.run_id, self.parent_run_id), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> str:
        if self.by is not None and self.parent_run_id is None:  # a child is its parent's doing
            permitted(tx, self.by, Wish(Act.SUBMIT, self.workflow))
        if self.is_known(tx):
            return "existing"
        tx.put(self.begun(tx))
        tx.append(self.run_id, EntryKind.SUBMITTED, name=self.workflow, data=self.said())
        return "new"

    def is_known(self, tx: Transaction) -> bool:
        """Whether the request was accepted before. Raises Refused(request_conflict) where it had other content."""
        known = run_of(tx, self.run_id)
        if known is not None:
            self.refuse_other_content(known)
        return known is not None

    def refuse_other_content(self, known: RunRecord) -> None:
        """Raises Refused(request_conflict) where the run that has this request id was asked for something else."""
        if known.input_digest != self.input_digest:
            raise Refused(
                "request_conflict",
                request_id=self.request_id,
                stored=known.input_digest,
                given=self.input_digest,
                run_id=known.run_id,
            )

    def said(self) -> dict[str, Any]:
        """What the first entry of the run says."""
        said = {"version": self.version, "request_id": self.request_id, "in": self.input_digest}
        return said | ({} if self.by is None else {"by": self.by})

    def begun(self, tx: Transaction) -> RunRecord:
        """The run as it is stored first: pending, and due at once."""
        owner = self.budget["owner"]
        return RunRecord(
            run_id=self.run_id,
            number=tx.number("run"),
            workflow=self.workflow,
            workflow_version=self.version,
            generation=0,
            request_id=self.request_id,
            input_digest=self.input_digest,
            input=self.input,
            state=RunState.PENDING,
            reason=None,
            sentence=RUN_SENTENCES[RunState.PENDING],
            owner=owner["name"],
            owner_then=owner["then"],
            deadline_at=tx.now + self.deadlines.pending,
            due_at=tx.now,
            heading=None,
            result=None,
            failure=None,
            parent_run_id=self.parent_run_id,
            parent_position=self.parent_position,
            budget=compact(self.budget),
            failed_tries=0,
            spent_micros=0,
            reserved_micros=0,
            waited_us=0,
            waiting_since=None,
            crashes=0,
            cancel_asked=0,
            created_at=tx.now,
            started_at=None,
            updated_at=tx.now,
            fence=0,
            worker_id=None,
            lease_until=None,
            executing=0,
            sequence=-1,
            head=GENESIS,
            submitted_by=self.by,
            known_from=self._known_from(tx),
        )

    def _known_from(self, tx: Transaction) -> int | None:
        """Of a run that a restore has lost: its identities are the same again, and so are a child's of such a run."""
        lost = tx.get(LostRunRecord, self.run_id)
        if lost is not None:
            return lost.lost_from
        parent = None if self.parent_run_id is None else tx.get(RunRecord, self.parent_run_id)
        if parent is None:
            return None
        since = began(parent)
        return since if maybe_lost(since, tx.installation) or is_the_originals(since, tx.installation) else None


@dataclass(frozen=True, slots=True)
class SubmitChild(Submit):
    """A run that another begins, for as long as that one is driven under `parent_fence`: whoever lost it begins nothing more.

    Of a parent that was cancelled, and whose driver has not heard yet, it is cancelled from its start. Raises Refused(fence_lost).
    Without a fence nobody drives the parent now: a child that it had begun elsewhere is stored again after a restore.
    """

    parent_fence: int | None = 0

    def decide(self, tx: Transaction) -> str:
        fence = self.parent_fence
        parent = tx.must(RunRecord, self._parent) if fence is None else driven(tx, self._parent, fence)
        admitted = Submit.decide(self, tx)
        if admitted == "new" and parent.cancel_asked:
            tx.put(replace(tx.must(RunRecord, self.run_id), cancel_asked=1, heading="cancelled"))
            tx.append(self.run_id, EntryKind.CANCEL_ASKED, data={"by": None, "reason": "", "with": self._parent})
        return admitted

    @property
    def _parent(self) -> str:
        assert self.parent_run_id is not None, "a child has a parent"
        return self.parent_run_id
