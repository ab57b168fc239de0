"""Decisions over HTTP: what models answered, and what that used and cost."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from counterfoil.app.decisions import DecisionFilter
from counterfoil.client.shapes.base import Answer
from counterfoil.client.shapes.decision import Decisions, DecisionShown, Usage
from counterfoil.console.api.described import LONGEST, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("decisions")

Workflow = Annotated[str | None, Query(max_length=LONGEST, description="Of runs of this workflow only.")]
ByAgent = Annotated[str | None, Query(max_length=LONGEST, description="Of this agent only.")]
Since = Annotated[str | None, Query(max_length=LONGEST, description="Not older: a day in UTC, or an RFC 3339 time.")]
Verdict = Annotated[
    str | None, Query(max_length=LONGEST, description="approved, rejected, corrected, expired, open or none.")
]
Talk = Annotated[str | None, Query(max_length=LONGEST, description="Of the turns of this conversation only.")]
Kind = Annotated[str, Query(max_length=LONGEST, description="model, agent, workflow, conversation, day or tool.")]
Sequence = Annotated[int, Path(ge=0, le=2**53, description="The entry of the decision, as in run-3/7.")]


@router.get("/decisions", responses=gives(Answer[Decisions]))
def list_decisions(
    at: AtDesk,
    workflow: Workflow = None,
    agent: ByAgent = None,
    since: Since = None,
    verdict: Verdict = None,
    conversation: Talk = None,
    limit: Limit = 50,
) -> Response:
    """List what models answered, the newest run first, with what people and receivers made of it."""
    return answer(
        "decisions list", at.decisions.list(DecisionFilter(workflow, agent, since, verdict, conversation, limit))
    )


@router.get("/decisions/usage", responses=gives(Answer[Usage]))
def sum_usage(
    at: AtDesk,
    by: Kind = "model",
    workflow: Workflow = None,
    agent: ByAgent = None,
    since: Since = None,
    conversation: Talk = None,
) -> Response:
    """Sum what models were asked, used and cost. A lost call is counted and measured nowhere; an unknown price is no zero."""
    wanted = DecisionFilter(workflow, agent, since, None, conversation, None)
    return answer("decisions usage", at.decisions.usage(wanted, by=by))


@router.get("/decisions/{run}/{sequence}", responses=gives(Answer[DecisionShown]))
def show_decision(at: AtDesk, run: Which, sequence: Sequence) -> Response:
    """Show one decision: what was asked, what was answered, its versions, and its verdicts."""
    return answer("decisions show", at.decisions.show(f"{run}/{sequence}"))
