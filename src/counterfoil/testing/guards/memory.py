"""Guards of memory: an intention that is carried already, and what has ended, answer for themselves."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from counterfoil.engine import submit
from counterfoil.engine.submit import Submit, begun_reads
from counterfoil.model import ids
from counterfoil.model.installation import BusinessKeyRecord, InstallationRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction
from counterfoil.testing.guards.guard import Guard, Replacement

_TIMES = 4  # how often one request id can be forgotten


def _carried_by_nobody(known: Sequence[BusinessKeyRecord], now: int) -> list[BusinessKeyRecord]:
    return []


def _forgets_what_ended(original: Callable[[Transaction, str], RunRecord | None]) -> Any:
    def run_of(tx: Transaction, run_id: str) -> RunRecord | None:
        found = original(tx, run_id)
        return None if found is None or found.state.ended else found

    return run_of


def _names(run_id: str) -> list[str]:
    return [run_id, *(ids.derived("run", run_id, str(n)) for n in range(1, _TIMES))]


def _under_a_free_name(original: Callable[[Submit, Transaction], str]) -> Callable[[Submit, Transaction], str]:
    """A chain loses no entry, so the run that is forgotten stays, and the new one stands under a name of its own."""

    def decide(self: Submit, tx: Transaction) -> str:
        names = [name for name in _names(self.run_id) if tx.get(RunRecord, name) is None or submit.run_of(tx, name)]
        free = names[0]
        request_id = self.request_id if free == self.run_id else f"{self.request_id} {free}"
        return original(replace(self, run_id=free, request_id=request_id), tx)

    return decide


def _reads_its_names(original: Callable[[Submit], Sequence[Read]]) -> Callable[[Submit], tuple[Read, ...]]:
    return lambda self: (
        *original(self),
        *(read for name in _names(self.run_id)[1:] for read in begun_reads(name, None)),
    )


def _lets_go_of_the_key(original: Callable[..., OperationRecord]) -> Callable[..., OperationRecord]:
    """A success frees its business key, as if its operation were gone."""

    def succeeded(tx: Transaction, target: Any, situation: Any, operation: OperationRecord) -> OperationRecord:
        closed = original(tx, target, situation, operation)
        if operation.business_key is not None:
            for held in tx.find(BusinessKeyRecord, "business_key", operation.business_key):
                if held.operation_id == operation.operation_id:
                    tx.put(replace(held, held_until=tx.now))
        return closed

    return succeeded


def _only_while_it_is_open(run_from: int, restore: InstallationRecord) -> bool:
    return restore.restore_state == "open"


MEMORY: Sequence[Guard] = (
    Guard(
        "business-key",
        "One intention is carried by one operation that is not failed, across runs; others take its receipt (section 3).",
        (Replacement("counterfoil.engine.proposals", "carriers", lambda original: _carried_by_nobody),),
    ),
    Guard(
        "tombstone",
        "What has ended still answers for its request id and its business key, however long ago it ended (rule 21).",
        (
            Replacement("counterfoil.engine.submit", "run_of", _forgets_what_ended),
            Replacement("counterfoil.engine.submit", "Submit.decide", _under_a_free_name),
            Replacement("counterfoil.engine.submit", "Submit.reads", _reads_its_names),
            Replacement("counterfoil.engine.advance", "_succeeded", _lets_go_of_the_key),
        ),
    ),
    Guard(
        "lost-history",
        "After a restore what a run of before plans anew counts as maybe sent, whenever and however it is worded (rule 20).",
        (Replacement("counterfoil.rules.lost_history", "maybe_lost", lambda original: _only_while_it_is_open),),
    ),
)
