"""What each kind of call does in an activity: the embedded engine's own call, on the run of the ledger."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

from pydantic import TypeAdapter

from counterfoil.engine import call_wait
from counterfoil.engine.context import EmbeddedRun
from counterfoil.engine.definitions import Operation, Registry, dumped, loaded, signature_of
from counterfoil.integrations.temporal.identity import in_ledger
from counterfoil.integrations.temporal.references import referred
from counterfoil.model.artifact import Artifact
from counterfoil.model.errors import Refused
from counterfoil.model.proposal import Proposal

Carried = Callable[[Registry, EmbeddedRun, dict[str, Any]], Awaitable[Any]]


async def step(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    del registry
    function = referred(given["function"])
    signature = signature_of(function)
    arguments = {
        name: loaded(adapter, given["inputs"][name], where=name)
        for name, adapter in signature.inputs
        if name in given["inputs"]
    }
    result = await run.step(function, **arguments)
    return dumped(signature.result, result, where="the result")


async def decide(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    del registry
    agent, versions = referred(given["agent"]), given["versions"]
    if "reason" in given:
        output = await run.revise(agent, given["input"], **versions, reason=given["reason"])
    else:
        output = await run.decide(agent, given["input"], **versions)
    return dumped(output_of(agent), output, where="the decision")


async def propose(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    operation = operation_of(registry, given["operation"])
    payload = _payload(operation, given["payload"])
    replaces = None if given["replaces"] is None else proposal_from(operation, payload, given["replaces"])
    sources = [Artifact.model_validate(source) for source in given["sources"]]
    return proposal_facts(await run.propose(operation, payload, replaces=replaces, sources=sources))


async def perform(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    operation = operation_of(registry, given["operation"])
    payload = _payload(operation, given["payload"])
    if given["proposal"] is not None:
        payload = proposal_from(operation, payload, given["proposal"])
    receipt = await run.perform(operation, payload)
    return dumped(signature_of(operation.function, skip=1).result, receipt, where="the receipt")


async def transact(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    del registry
    return await run.transact(referred(given["connect"]), referred(given["body"]))


async def wait_for(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    del registry
    wanted = referred(given["type"])
    payload = await run.wait_for(given["signal"], wanted, within=timedelta(microseconds=given["within_us"]))
    return dumped(TypeAdapter(wanted), payload, where="the signal")


async def sleep(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> None:
    del registry
    await run.sleep(timedelta(microseconds=given["within_us"]))


async def timeout(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    """Open it; the workflow carries the scope on with its calls."""
    del registry
    async with call_wait.timeout(run.execution, timedelta(microseconds=given["within_us"])):
        scope = run.execution.branch.scopes[-1]
    return [scope.position, scope.until]


async def child(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> Any:
    workflow = in_ledger(registry.workflows[given["workflow"], given["version"]])
    signature = signature_of(workflow.function, skip=1)
    name, adapter = signature.inputs[0]
    result = await run.child(workflow, loaded(adapter, given["input"], where=name), request_id=given["request_id"])
    return dumped(signature.result, result, where="the result")


async def message(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> None:
    del registry
    await run.message(given["role"], given["text"])


async def document(registry: Registry, run: EmbeddedRun, given: dict[str, Any]) -> None:
    del registry
    await run.document(given["name"], given["text"])


KINDS: dict[str, Carried] = {
    "step": step, "decide": decide, "propose": propose, "perform": perform, "transact": transact, "wait_for": wait_for,
    "sleep": sleep, "timeout": timeout, "child": child, "message": message, "document": document,
}  # fmt: skip


_REFERENCES = ("function", "agent", "type", "connect", "body")


def check_reachable(registry: Registry, given: dict[str, Any]) -> None:
    """Raises Refused(temporal_unreachable) where this worker's code lacks what a call names: it is older, or newer."""
    for name in _REFERENCES:
        if name in given:
            referred(given[name])
    if "operation" in given:
        operation_of(registry, given["operation"])
    if "workflow" in given and (given["workflow"], given["version"]) not in registry.workflows:
        raise Refused("temporal_unreachable", what=f"The workflow {given['workflow']}, version {given['version']},")


def operation_of(registry: Registry, name: str) -> Operation[Any, Any]:
    """Raises Refused(temporal_unreachable) where this worker's application does not declare it."""
    if name not in registry.operations:
        raise Refused("temporal_unreachable", what=f"The operation {name}")
    return registry.operations[name]


def output_of(agent: Any) -> TypeAdapter[Any]:
    """The JSON form of what an agent decides."""
    return TypeAdapter(getattr(agent, "output_type", Any))


def proposal_facts(proposal: Proposal[Any, Any]) -> dict[str, Any]:
    """A proposal without its operation and its payload, which both sides have."""
    return {
        "proposal_id": proposal.proposal_id, "operation_id": proposal.operation_id, "version": proposal.version,
        "digest": proposal.digest,
    }  # fmt: skip


def _payload(operation: Operation[Any, Any], plain: Any) -> Any:
    return loaded(
        signature_of(operation.function, skip=1).inputs[0][1], plain, where=f"the payload of {operation.name}"
    )


def proposal_from(operation: Operation[Any, Any], payload: Any, facts: dict[str, Any]) -> Proposal[Any, Any]:
    """The proposal that `proposal_facts` described."""
    return Proposal(
        facts["proposal_id"], facts["operation_id"], operation, payload, facts["version"], facts["digest"]
    )  # fmt: skip
