"""`explain`: what each operation promises, from the code alone, before anything runs."""

from collections.abc import Callable, Iterator, Mapping
from types import CodeType, MappingProxyType
from typing import Any

from counterfoil.engine.definitions import Operation, ReceiverDefinition, Registry, Workflow
from counterfoil.engine.tap import rate_text
from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused
from counterfoil.model.people import owner_of
from counterfoil.rules.absence import absence_authorises
from counterfoil.rules.contract_sentences import plain_sentences

STORAGE = (
    "SQLite: what is prepared, approved or in flight is in the write-ahead log and flushed to disk before a byte leaves; "
    "`counterfoil doctor` says what that survives here."
)
# What one approval is bound to (engine/proposals.scope_of, and the digest and version of the review).
APPROVED_PARTS = (
    "digest", "version", "operation", "receiver", "environment", "credential", "business_key", "upper_amount", "one use",
)  # fmt: skip
IDENTITY = (
    "operation_id = hash(run, generation, position, operation name, occurrence), minted once when it is prepared, stored, "
    "and carried by replay and retry."
)


Tools = Mapping[str, Callable[[], list[dict[str, Any]]]]  # by agent: what a crash does with each of its tools


def explain(registry: Registry, target: str | None = None, agents: Tools = MappingProxyType({})) -> dict[str, Any]:
    """`{target, items: [{operation, receiver, action, saved_decision, identity, business_key, review, guarantee, on_unknown,
    owner, procedure, storage_promise, sentences}], tools: [{agent, tool, kind, review, sentence}]}`.

    `target`: an operation, an agent (the operations among its tools), another workflow (the operations that its code names;
    all, if it names none), or None or the application's name for all. Raises Refused(not_found).
    """
    name = "" if target is None else target.rpartition(":")[2]
    asked = [name] if name in agents else list(agents) if target is None or target == registry.name else []
    tools = [{"agent": agent} | row for agent in asked for row in agents[agent]()]
    own = {row["operation"] for row in tools}
    meant = [registry.operations[each] for each in own if each in registry.operations] if name in agents else None
    found = sorted(_meant(registry, target) if meant is None else meant, key=lambda operation: operation.name)
    shown = [{key: value for key, value in row.items() if key != "operation"} for row in tools]
    items = [_explained(operation, registry.receivers.get(operation.receiver)) for operation in found]
    return {"target": target or registry.name, "items": items, "tools": shown}


def _meant(registry: Registry, target: str | None) -> list[Operation[Any, Any]]:
    everything = list(registry.operations.values())
    if target is None or target == registry.name:
        return everything
    name = target.rpartition(":")[2]
    if name in registry.operations:
        return [registry.operations[name]]
    workflows = [workflow for (known, _), workflow in registry.workflows.items() if known == name]
    if not workflows:
        raise Refused("not_found", what="operation or workflow", id=target)
    named = {operation.name: operation for workflow in workflows for operation in _named_in(workflow)}
    # A workflow that reaches its operations through other functions names none itself.
    return list(named.values()) or everything


def _named_in(workflow: Workflow[Any, Any]) -> Iterator[Operation[Any, Any]]:
    """The operations that a workflow's function names, as globals or in its closure."""
    function = workflow.function
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return
    seen: dict[str, Any] = getattr(function, "__globals__", {})
    cells = getattr(function, "__closure__", None) or ()
    values = [seen.get(name) for name in _names(code)] + [cell.cell_contents for cell in cells]
    for value in values:
        if isinstance(value, Operation):
            yield value  # pyright: ignore[reportUnknownVariableType]


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _limited(receiver: ReceiverDefinition | None) -> list[str]:
    """What all workers keep to at this receiver, in plain sentences."""
    if receiver is None:
        return []
    found: list[str] = []
    if receiver.concurrency is not None:
        found.append(
            f"At most {receiver.concurrency} attempts are under way at {receiver.name} at once, over all workers."
        )
    if receiver.rate is not None:
        found.append(f"At most {rate_text(receiver.rate)} go to {receiver.name}, from all workers together.")
    return found


def _explained(operation: Operation[Any, Any], receiver: ReceiverDefinition | None) -> dict[str, Any]:
    contract = operation.contract
    review = operation.review
    owner = operation.owner or (review.owner if review is not None else None)
    return {
        "operation": operation.name,
        "receiver": operation.receiver,
        "action": operation.action,
        "api_version": contract.api_version,
        "saved_decision": _saved(operation),
        "identity": IDENTITY,
        "business_key": _business_key(operation.business_key),
        "review": None
        if review is None
        else {
            "role": review.role,
            "scope": list(APPROVED_PARTS),
            "expires_in": int(review.expires_in.total_seconds()),
        },
        "guarantee": guarantee(contract),
        "on_unknown": on_unknown(contract),
        "owner": None if owner is None else owner_of(owner).name,
        "procedure": contract.procedure,
        "storage_promise": STORAGE,
        "sentences": plain_sentences(contract) + _limited(receiver),
    }


def _saved(operation: Operation[Any, Any]) -> str:
    asked = "" if operation.review is None else " The review is about the digest of one version of it."
    return f"The payload is stored with its digest before anything is asked or sent; a recovered run reuses it.{asked}"


def _business_key(key: str | Callable[[Any], str] | None) -> str | None:
    return key if key is None or isinstance(key, str) else f"{key.__module__}:{key.__qualname__}"


def guarantee(contract: Contract) -> str:
    """What makes it happen once, in a sentence."""
    if contract.key is not None:
        return "Once: the receiver recognises a repeat by our key, inside its window and scope."
    if contract.precondition is not None:
        return f"Once: the receiver itself refuses a second effect ({contract.precondition})."
    if absence_authorises(contract):
        return "Once: it is sent again only after the receiver, asked late enough, does not have it and the sender is gone."
    if contract.lookup is not None:
        return "At most once by itself: the receiver can be asked whether it happened; another send needs a person."
    return "At most once by itself: nothing tells whether a lost try happened; another send needs a person."


def on_unknown(contract: Contract) -> str:
    """What happens when an answer is lost, in order, in a sentence."""
    ways = [
        (contract.key is not None or contract.precondition is not None, "repeat it while that is harmless"),
        (contract.lookup is not None, "ask the receiver"),
        (bool(contract.receipts), "wait for the receiver's message"),
    ]
    steps = [step for holds, step in ways if holds]
    person = "park the run as outcome_unknown with evidence, owner, deadline and the command that resolves it"
    return f"{', then '.join([*steps, person]).capitalize()}."
