"""RECEIVER: an outside system, the contracts in force there, its open doubts, and how its newest attempts went."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from counterfoil.app.views.contract import kind_of
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.engine.definitions import Operation, ReceiverDefinition, Registry
from counterfoil.engine.tap import paused_text, rate_text
from counterfoil.model.contract import Contract, Meaning
from counterfoil.model.operation import OperationRecord
from counterfoil.model.slots import SlotRecord, TapRecord, receiver_pool
from counterfoil.rules.contract_sentences import plain_sentences
from counterfoil.rules.tap import closed_until

MOST_COUNTED = 1000
DAY_US = 24 * 3600 * 1_000_000
_DOUBTFUL = {None, Meaning.AMBIGUOUS.value}


def receiver_view(
    shown: Shown, registry: Registry, name: str, doubts: Sequence[OperationRecord], answers: dict[str | None, int]
) -> dict[str, Any]:
    """`doubts`: its operations in flight or unknown. `answers`: its attempts of the last day by what they meant.

    `limits`: {concurrency, in_use, rate, closed_until_at, closed_by}, over all workers. `paused`: None, or {sentence, by, at,
    until_at}: by a person until that person or another ends it, or by its breaker (`by` None) until a time. `waiting`: how
    many runs its limits and its pause hold, counted up to 1000.
    """
    defined = registry.receivers.get(name)
    first_sent = [o.first_sent_at for o in doubts if o.first_sent_at is not None]
    stop = next((s for s in shown.suspensions if s.scope in ("all", f"receiver:{name}")), None)
    return {
        "receiver": name,
        "environment": defined.environment if defined else next((o.environment for o in doubts), None),
        "declared": defined is not None,
        "suspended": stop is not None,
        "in_doubt": len(doubts),
        "oldest_doubt_at": rfc3339(min(first_sent, default=None)),
        "last_day": _counted(answers),
        "limits": _limits(shown, name, defined),
        "paused": _paused(shown, name, defined),
        "waiting": shown.reader.due.held_count(receiver_pool(name), MOST_COUNTED),
        "operations": [_operation(o) for o in registry.operations.values() if o.receiver == name],
    }


def _paused(shown: Shown, name: str, defined: ReceiverDefinition | None) -> dict[str, Any] | None:
    tap = shown.reader.get(TapRecord, name)
    said = None if tap is None else paused_text(tap, defined.breaker if defined else None, shown.now)
    if tap is None or said is None:
        return None
    return {"sentence": said[0], "by": tap.paused_by, "at": rfc3339(tap.paused_at), "until_at": rfc3339(said[1])}


def _limits(shown: Shown, name: str, defined: ReceiverDefinition | None) -> dict[str, Any]:
    """What all workers keep, and how it stands now."""
    slots = shown.reader.find(SlotRecord, "pool", receiver_pool(name))
    tap = shown.reader.get(TapRecord, name)
    until = closed_until(tap, shown.now)
    return {
        "concurrency": defined.concurrency if defined else None,
        "in_use": sum(1 for slot in slots if (slot.until or 0) > shown.now),
        "rate": rate_text(defined.rate) if defined and defined.rate else None,
        "closed_until_at": rfc3339(until),
        "closed_by": tap.closed_by if tap is not None and until is not None else None,
    }


def _counted(answers: dict[str | None, int]) -> dict[str, Any]:
    attempts = sum(answers.values())
    refused = answers.get(Meaning.REFUSED.value, 0)
    ambiguous = sum(count for meaning, count in answers.items() if meaning in _DOUBTFUL)
    rate = None if not attempts else round((refused + ambiguous) / attempts, 4)
    return {"attempts": attempts, "refused": refused, "ambiguous": ambiguous, "failure_rate": rate}


def _operation(operation: Operation[Any, Any]) -> dict[str, Any]:
    contract: Contract = operation.contract
    key = contract.key
    retention = None if key is None else key.account_retention or key.retention
    return {
        "operation": operation.name, "action": operation.action, "api_version": contract.api_version,
        "contract_digest": contract.digest(), "kind": kind_of(contract),
        "lookup": None if contract.lookup is None else contract.lookup.consistency or "unknown",
        "window_us": None if retention is None else retention // timedelta(microseconds=1),
        "duplicate": contract.duplicate, "procedure": contract.procedure, "sentences": plain_sentences(contract),
    }  # fmt: skip
