"""Record what a question to the receiver showed, and rule on it in the same commit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.advance import Advanced, advanced
from counterfoil.engine.situation import Target, operation_in
from counterfoil.engine.verb import RunVerb
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.codec import compact, parsed
from counterfoil.model.contract import Contract
from counterfoil.model.installation import ContractRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.receipt import LookupRecord
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.rules.evidence import Sighting, judge_sightings
from counterfoil.rules.recovery import Kind
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

_WAYS = frozenset({Kind.SEND, Kind.REPEAT, Kind.OPEN_RENEWAL})


@dataclass(frozen=True, slots=True)
class RecordLookup(RunVerb):
    """`found` is a list of {reference, digest, receipt}; digest is None where only existence shows.

    `attempts` is how many attempts had begun when the question was asked: a later one voids what absence said.
    """

    target: Target
    asked_at: int
    attempts: int
    found: list[dict[str, Any]]
    complete: bool
    problem: str | None
    by: str | None = None  # the person who asked; None where the ledger asked by itself
    note: str = ""  # stands behind the sentence of an incident that it opens: whose the records are
    boundary: ClassVar[str] = "operation.looked_up"

    def reads(self) -> Sequence[Read]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> Advanced:
        operation = operation_in(tx, self.target)
        n = len(tx.find(LookupRecord, "operation_id", operation.operation_id)) + 1
        contract = Contract.from_stored(parsed(tx.must(ContractRecord, self.target.contract_digest).body))
        result = self._judged(contract, operation.payload_digest)
        tx.put(
            LookupRecord(
                ids.derived("look", operation.operation_id, str(n)),
                operation.operation_id,
                self.run_id,
                n,
                self.asked_at,
                result,
                int(self.complete),
                compact(self.found),
                self.attempts,
            )
        )
        changed = replace(operation, version=operation.version + 1)
        tx.put(changed)
        tx.append(
            self.run_id,
            EntryKind.LOOKED_UP,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "result": result,
                "complete": self.complete,
                "problem": self.problem,
            }
            | ({} if self.by is None else {"by": self.by}),
        )
        ruled = advanced(tx, self.target, changed, note=self.note)
        self._wake_parked(tx, ruled)
        return ruled

    def _wake_parked(self, tx: Transaction, ruled: Advanced) -> None:
        """A run that was parked because nothing could tell goes on by itself where the answer opens a way to send."""
        run = tx.must(RunRecord, self.run_id)
        doubt = run.reason == ruled.operation.reason == ParkReason.OUTCOME_UNKNOWN
        if doubt and ruled.ruling.kind in _WAYS:
            wake(tx, self.run_id)

    def _judged(self, contract: Contract, payload_digest: str) -> str:
        if self.problem is not None:
            return "unreachable"
        return judge_sightings(contract, payload_digest, [Sighting(r["reference"], r["digest"]) for r in self.found])
