"""Guards of sending: what keeps a second request from leaving, or from having an effect of its own."""

from collections.abc import Sequence
from typing import Any

from counterfoil.model import ids
from counterfoil.model.contract import Contract
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.recovery_facts import Stop
from counterfoil.rules.situation import Situation
from counterfoil.store.transaction import Transaction
from counterfoil.testing.guards.guard import Guard, Replacement


def _key_of_each_attempt(contract: Contract, operation: OperationRecord, key_number: int) -> str | None:
    fresh = (key_number + operation.attempts) % 256
    return None if contract.key is None else ids.encode_key(operation.operation_id, fresh, contract.key.format)


def _any_bytes(situation: Situation, request_digest: str) -> bool:
    return True


def _driven_by_anybody(tx: Transaction, run_id: str, fence: int) -> RunRecord:
    return tx.must(RunRecord, run_id)


def _never_passed(clock: Any, boot_deadline: int, wall_deadline: int) -> bool:
    return False


def _seen_at_once(contract: Contract) -> int:
    return 0


def _never_over(situation: Situation) -> bool:
    return False


def _only_incidents(situation: Situation) -> Stop:
    # The table must see an open incident, or it would open another one each time.
    return Stop.INCIDENT if situation.incident_open else Stop.NONE


def _never_spent(budget: dict[str, Any], run: RunRecord, now: int, *, spend_reserve: int = 0) -> None:
    return None


def _taken_as_gone(attempt: AttemptRecord, situation: Situation) -> bool:
    return True


def _instead(module: str, name: str, function: Any) -> tuple[Replacement, ...]:
    return (Replacement(f"counterfoil.{module}", name, lambda original: function),)


SENDING: Sequence[Guard] = (
    Guard(
        "key-reuse",
        "Every attempt under one key number carries the same key, so that a receiver knows a repeat as one (rule 4).",
        _instead("rules.key_window", "key_of", _key_of_each_attempt),
    ),
    Guard(
        "request-digest",
        "Other bytes never leave under a key that carried some, unless the receiver rejects them (rules 1 and 4).",
        _instead("rules.key_window", "same_bytes", _any_bytes),
    ),
    Guard(
        "fence",
        "Only who claimed a run last writes it; whoever was overtaken may add evidence and nothing else (rules 3 and 18).",
        _instead("engine.verb", "driven", _driven_by_anybody),
    ),
    Guard(
        "attempt-deadline",
        "A sender does not begin to send once its attempt's deadline has passed (rule 3).",
        _instead("engine.sender", "deadline_passed", _never_passed),
    ),
    Guard(
        "visibility-wait",
        "Not found counts only once a request can arrive no more and its effect can be seen (rule 4).",
        _instead("rules.absence", "hidden_for", _seen_at_once),
    ),
    Guard(
        "window-check",
        "A repeat is harmless only while it surely arrives inside the key's window, counted from the first send (rule 4).",
        _instead("rules.key_window", "window_over", _never_over),
    ),
    Guard(
        "stop-check",
        "A suspension, an unfinished restore, a doubt of the run, a hold or a jump of the clock forbids sending (rules 13, 20).",
        _instead("rules.gather", "stop_fact", _only_incidents),
    ),
    Guard(
        "budget-check",
        "A spent budget stops tries, sends, repeats and model calls (rule 17).",
        _instead("rules.budget", "budget_left", _never_spent),
    ),
    Guard(
        "sender-gone",
        "After an absence nothing is sent until the earlier sender is proven gone; elapsed time proves nothing (rule 4).",
        _instead("rules.evidence", "proven_gone", _taken_as_gone),
    ),
)
