"""From a workflow and an input to the verb that submits its run."""

from decimal import Decimal
from typing import Any, cast

from counterfoil.engine.budgets import handed_on
from counterfoil.engine.definitions import Workflow, loaded, signature_of
from counterfoil.engine.submit import Submit, SubmitChild
from counterfoil.engine.verb import Deadlines
from counterfoil.model import ids
from counterfoil.model.budget import Budget
from counterfoil.model.codec import BODY_LIMIT, compact, payload_digest
from counterfoil.model.conversation import Turn
from counterfoil.model.errors import Refused
from counterfoil.model.people import owner_facts, owner_of
from counterfoil.model.run import RunRecord


def budget_facts(budget: Budget) -> dict[str, Any]:
    return (
        {
            "attempts": budget.attempts,
            "elapsed_us": int(budget.elapsed.total_seconds() * 1_000_000),
            "spend_micros": int(Decimal(str(budget.spend_usd)) * 1_000_000),
            "owner": owner_facts(owner_of(budget.owner)),
        }
        | ({} if budget.tokens is None else {"tokens": budget.tokens})
        | ({"calls": dict(budget.calls)} if budget.calls else {})
    )


def refuse_turn(workflow: Workflow[Any, Any], plain: Any) -> None:
    """A message of a conversation is admitted, with its turn. Raises Refused(in_conversation) for one that is submitted."""
    if not isinstance(plain, dict) or cast("dict[str, Any]", plain).get("conversation") is None:
        return
    where, adapter = signature_of(workflow.function, skip=1).inputs[0]
    given = loaded(adapter, plain, where=where)
    if isinstance(given, Turn):
        raise Refused("in_conversation", conversation=given.conversation, workflow=workflow.name)


def submission(
    installation_id: str,
    workflow: Workflow[Any, Any],
    plain: Any,
    request_id: str,
    deadlines: Deadlines,
    *,
    by: str | None = None,
) -> Submit:
    """`plain` is the input as JSON. Raises Refused(too_large | unserializable)."""
    return Submit(**_facts(installation_id, workflow, plain, request_id), deadlines=deadlines, by=by)


def child_submission(
    installation_id: str,
    workflow: Workflow[Any, Any],
    plain: Any,
    request_id: str,
    deadlines: Deadlines,
    *,
    parent: RunRecord,
    position: str,
    driven: bool = True,
) -> SubmitChild:
    """The same for a run that `parent` begins at a position: it is submitted by whoever submitted the parent, and for its
    conversation. `driven` False: nobody drives the parent now, it had begun this one earlier."""
    facts = _facts(installation_id, workflow, plain, request_id)
    facts["budget"] = handed_on(facts["budget"], parent)
    return SubmitChild(
        **facts, deadlines=deadlines, by=parent.submitted_by,
        parent_run_id=parent.run_id, parent_position=position, parent_fence=parent.fence if driven else None,
    )  # fmt: skip


def _facts(installation_id: str, workflow: Workflow[Any, Any], plain: Any, request_id: str) -> dict[str, Any]:
    text = compact(plain)
    if len(text) > BODY_LIMIT:
        raise Refused("too_large", what=f"The input of {workflow.name}", size=len(text), limit=BODY_LIMIT)
    return {
        "run_id": ids.run_id(installation_id, workflow.name, request_id),
        "workflow": workflow.name,
        "version": workflow.version,
        "request_id": request_id,
        "input": text,
        "input_digest": payload_digest(plain, where="input"),
        "budget": budget_facts(workflow.budget),
    }
