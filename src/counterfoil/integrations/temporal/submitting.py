"""Submit a request to Temporal: the same request id finds the same workflow, and its run in the ledger."""

from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from temporalio.client import Client
from temporalio.common import WorkflowIDReusePolicy
from temporalio.exceptions import WorkflowAlreadyStartedError

from counterfoil.app import App
from counterfoil.app.registration import check_owners
from counterfoil.engine.definitions import Workflow, dumped, signature_of
from counterfoil.engine.submission import refuse_turn, submission
from counterfoil.integrations.temporal.identity import in_ledger, type_name, workflow_id_for
from counterfoil.integrations.temporal.messages import Input
from counterfoil.model.origin import Origin

I = TypeVar("I")


@dataclass(frozen=True, slots=True)
class Started:
    """`run_id` is the ledger's; `workflow_id` is Temporal's. `admitted` is new, or existing when the request was known."""

    run_id: str
    workflow_id: str
    admitted: Literal["new", "existing"]


async def submit(
    app: App,
    client: Client,
    workflow: Workflow[I, Any],
    input: I,
    *,
    request_id: str,
    queue: str,
    by: str | None = None,
) -> Started:
    """As `App.submit`, on a queue of Temporal. Raises Refused(request_conflict) for other content under a known request id."""
    name, adapter = signature_of(workflow.function, skip=1).inputs[0]
    plain = dumped(adapter, input, where=name)
    refuse_turn(workflow, plain)
    opened = app.open()
    check_owners(app.registry, opened)
    workflow_id = workflow_id_for(workflow.name, request_id)
    first, admitted = await _started(client, workflow, Input(plain, by=by), workflow_id, queue)
    # The workflow's own first activity does the same; whoever comes second finds it.
    origin = Origin(client.namespace, workflow_id, first)
    verb = submission(opened.installation_id, in_ledger(workflow), plain, origin.request_id, opened.deadlines, by=by)
    await opened.write(verb)
    return Started(verb.run_id, workflow_id, admitted)


async def _started(
    client: Client, workflow: Workflow[Any, Any], given: Input, workflow_id: str, queue: str
) -> tuple[str, Literal["new", "existing"]]:
    """The first execution's run id."""
    try:
        handle = await client.start_workflow(
            type_name(workflow.name, workflow.version),
            given,
            id=workflow_id,
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.REJECT_DUPLICATE,
        )
        return handle.first_execution_run_id or "", "new"
    except WorkflowAlreadyStartedError:
        described = await client.get_workflow_handle(workflow_id).describe()
        return described.raw_info.first_run_id, "existing"
