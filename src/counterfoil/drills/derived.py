"""What a drill can take from the code alone: an input from its type, and a sandbox that keeps an operation's contract."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.scenario import Scenario
from counterfoil.engine.definitions import Operation, Workflow, loaded, signature_of
from counterfoil.model.contract import Contract
from counterfoil.model.contract_parts import IdempotencyKey, Meaning
from counterfoil.model.errors import Refused
from counterfoil.testing.model_server.answers import answer_to
from counterfoil.testing.model_server.reading import Prompt
from counterfoil.testing.sandbox.contract import SandboxContract

NOTHING_SAID = Prompt("")
_OTHER_BODY = {"rejects": "rejects", "replays": "replays", "identity": "part_of_identity", "overwrites": "overwrites"}
_IN_PROGRESS = {"status": "conflict", "waits": "waits", "refuses": "refuses", "both_may_fail": "refuses"}


def derived(workflow: Workflow[Any, Any], seed: int) -> Scenario:
    """A scenario for a workflow that has none. Raises Refused(drill_undeclared), which says what to declare."""
    return Scenario(workflow=workflow.name, input=_input(workflow, seed), other_input=_input(workflow, seed + 1))


def completed(app: App, scenario: Scenario) -> Scenario:
    """The scenario with a sandbox for every receiver. Raises Refused(drill_undeclared)."""
    named = [app.registry.operations[item["operation"]] for item in app.explain(scenario.workflow)["items"]]
    missing = sorted({o.receiver for o in app.registry.operations.values()} - scenario.sandboxes.keys())
    found = {receiver: _sandbox(app, scenario.workflow, receiver, named) for receiver in missing}
    return replace(scenario, sandboxes={**found, **scenario.sandboxes})


def _input(workflow: Workflow[Any, Any], seed: int) -> Any:
    name, adapter = signature_of(workflow.function, skip=1).inputs[0]
    made = answer_to(adapter.json_schema(), NOTHING_SAID, seed + 1)
    try:
        loaded(adapter, made, where=name)
    except Refused as refused:
        raise undeclared(
            workflow.name, f"an input made from its type does not fit it ({refused.message})", "input"
        ) from refused
    return made


def _sandbox(app: App, workflow: str, receiver: str, named: list[Operation[Any, Any]]) -> SandboxContract:
    """What the operations that the workflow's code names are promised there; else any that is registered for it."""
    mine = [operation for operation in named if operation.receiver == receiver]
    mine = mine or [operation for operation in app.registry.operations.values() if operation.receiver == receiver][:1]
    contracts = [sandbox_of(operation.contract) for operation in mine]
    if None in contracts:
        raise undeclared(
            workflow,
            f"the sandbox has no key in the path, as {receiver} has",
            f"sandboxes={{{receiver!r}: ...}}",
        )
    if any(contract != contracts[0] for contract in contracts) or contracts[0] is None:
        names = ", ".join(operation.name for operation in mine)
        raise undeclared(
            workflow, f"{names} have different contracts at {receiver}", f"sandboxes={{{receiver!r}: ...}}"
        )
    return contracts[0]


def undeclared(workflow: str, problem: str, what: str) -> Refused:
    """The refusal that says what a person declares."""
    return Refused("drill_undeclared", workflow=workflow, problem=problem, what=what)


def sandbox_of(contract: Contract) -> SandboxContract | None:
    """A sandbox that keeps a contract as declared; None where the key stands in the path."""
    key = contract.key
    if key is not None and key.path is not None:
        return None
    mismatch = next((rule.status for rule in contract.classifier if rule.meaning is Meaning.KEY_MISMATCH), None)
    made = SandboxContract(
        kind="derived",
        key_header=None,
        mismatch_status=min(mismatch) if isinstance(mismatch, frozenset) and mismatch else 422,
        lookup=contract.lookup is not None,
        lookup_consistency="eventual"
        if contract.lookup is not None and contract.lookup.consistency == "eventual"
        else "strong",
        client_id=contract.precondition == "create_if_absent",
        two_step=contract.stages == "prepare_confirm",
    )
    return made if key is None else _with_key(made, key)


def _with_key(made: SandboxContract, key: IdempotencyKey) -> SandboxContract:
    retention = key.account_retention or key.retention or timedelta()
    return replace(
        made,
        key_header=key.header,
        key_body=key.body,
        key_query=key.query,
        window_from="completion" if key.clock in ("completion", "close") else "accept",
        refuses_late=key.after_window == "refuses",
        resumes=key.unsaved == "resumes",
        key_window_seconds=None if retention == timedelta.max else retention.total_seconds(),
        saves=frozenset(key.saves if key.saves is not None else {"2xx"}),
        other_body=_OTHER_BODY[key.other_body or "rejects"],
        in_progress=_IN_PROGRESS[key.in_progress or "status"],
        key_scope=frozenset({"credential", "endpoint"} & (key.scope if key.scope is not None else {"endpoint"})),
        replay_marker=key.replay_marker is not None,
        lock_timeout_seconds=None if key.lock_timeout is None else key.lock_timeout.total_seconds(),
    )
