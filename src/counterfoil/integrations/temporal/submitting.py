"""Submit a request to Temporal: the same request id finds the same workflow, and its run in the ledger."""

from contextlib import suppress
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
from counterfoil.model.codec import parsed
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord

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
    """As `App.submit`, on a queue of Temporal. Raises Refused(request_conflict) for other content under a known request id.

    The ledger is asked first, and for ever: a request that Temporal has forgotten is known. Whoever was interrupted between the
    two asks again: a run that has not ended, and that Temporal does not execute, is executed from the record.
    """
    name, adapter = signature_of(workflow.function, skip=1).inputs[0]
    plain = dumped(adapter, input, where=name)
    refuse_turn(workflow, plain)
    opened = app.open()
    check_owners(app.registry, opened)
    workflow_id = workflow_id_for(workflow.name, request_id)
    stored = Origin(client.namespace, workflow_id, "").request_id
    verb = submission(opened.installation_id, in_ledger(workflow), plain, stored, opened.deadlines, by=by)
    admitted: Literal["new", "existing"] = await opened.write(verb)
    with opened.read() as reader:
        run = reader.get(RunRecord, verb.run_id)
    assert run is not None, "it is stored"
    if not run.state.ended:
        await _start(client, workflow.name, run, workflow_id, queue)
    return Started(verb.run_id, workflow_id, admitted)


async def _start(client: Client, name: str, run: RunRecord, workflow_id: str, queue: str) -> None:
    parent = None if run.parent_run_id is None else [run.parent_run_id, run.parent_position or ""]
    with suppress(WorkflowAlreadyStartedError):  # it is executed
        await client.start_workflow(
            type_name(name, run.workflow_version),
            Input(parsed(run.input), by=run.submitted_by, submitted=True, parent=parent),
            id=workflow_id,
            task_queue=queue,
            id_reuse_policy=WorkflowIDReusePolicy.ALLOW_DUPLICATE,
        )
