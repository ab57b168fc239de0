"""Escalation: what its owner did not move in time is shown to the next owner as well."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from counterfoil.engine.verb import RunVerb
from counterfoil.model.inbox import TendingRecord, untended
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Escalate(RunVerb):
    """Once for each wait. `subject` is a review, a run or an incident of the run. Gives True when it was not escalated yet."""

    subject: str
    since_at: int
    owner_then: str
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id), Read.key(TendingRecord, self.subject))

    def decide(self, tx: Transaction) -> bool:
        known = tx.get(TendingRecord, self.subject)
        if known is not None and known.escalated_at is not None and known.escalated_at >= self.since_at:
            return False
        known = known or untended(self.subject, self.run_id)
        tx.put(replace(known, escalated_to=self.owner_then, escalated_at=tx.now))
        tx.append(
            self.run_id,
            EntryKind.TENDED,
            name="escalated",
            data={"subject": self.subject, "to": self.owner_then, "by": None},
        )
        return True
