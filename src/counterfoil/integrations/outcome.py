"""What became of one call of a tool that is an operation: plain JSON, so that any host's journal can keep it."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from counterfoil.engine.call_perform import payload_adapter
from counterfoil.engine.definitions import Operation, loaded
from counterfoil.model.codec import compact
from counterfoil.model.errors import CounterfoilError, Refused, StepFailed, Unresolved

if TYPE_CHECKING:
    from counterfoil.app.application import App

# Before anything was sent, and a model can answer it by planning another call. Any other refusal is raised: it speaks of the
# installation, or of a receipt that cannot be read though the operation has happened.
_TOLD = frozenset({"identity_conflict", "too_large", "unserializable"})


@dataclass(frozen=True, slots=True)
class Outcome:
    """One of three: `receipt` (JSON), `refused` (a sentence: nothing was sent, or the receiver said no), or `waits` (see `waiting`)."""

    receipt: dict[str, Any] | None = None
    refused: str | None = None
    waits: dict[str, Any] | None = None


def identity_of(*parts: str | None) -> str:
    """One identity of these parts, in this order. Raises Refused(no_identity) where one is missing."""
    if not all(parts):
        raise Refused("no_identity", parts=compact(list(parts)))
    return compact(list(parts))


def waiting(doubt: Unresolved, identity: str) -> dict[str, Any]:
    """What a host is given about a call that only a person, or time, moves: JSON, to be shown and kept."""
    return {
        "identity": identity,
        "run_id": doubt.run_id,
        "operation_id": doubt.operation_id,
        "uncertain": list(doubt.uncertain),
        "sentence": doubt.sentence,
        "next_action": doubt.next_action,
    }


async def outcome_of(app: "App", operation: Operation[Any, Any], arguments: dict[str, Any], identity: str) -> Outcome:
    """Perform it, once per identity. Raises Refused for what no other call could answer."""
    try:
        payload = loaded(payload_adapter(operation), arguments, where=f"the payload of {operation.name}")
    except Refused as refused:
        return Outcome(refused=told(operation.name, refused))
    try:
        receipt = await app.ledger.perform(operation, payload, identity=identity)
    except Unresolved as doubt:
        return Outcome(waits=waiting(doubt, identity))
    except StepFailed as failed:
        return Outcome(refused=told(operation.name, failed))
    except Refused as refused:
        if refused.code not in _TOLD:
            raise
        return Outcome(refused=told(operation.name, refused))
    return Outcome(receipt=receipt.model_dump(mode="json"))


def told(name: str, error: CounterfoilError) -> str:
    """What a model hears of a call that did not happen."""
    return f"{name} did not happen: {error.message}"
