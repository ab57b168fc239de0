"""Runs over HTTP."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.installation import Signalled
from counterfoil.client.shapes.run import Moved, Run, RunSummary, Submitted
from counterfoil.console.api.bodies import Cancelling, Resuming, Signal, Submission
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("runs")

State = Annotated[
    str | None, Query(max_length=20, description="pending, running, waiting, parked, completed, failed, cancelled.")
]
Filter = Annotated[str | None, Query(max_length=200)]


@router.post(
    "/runs",
    status_code=201,
    responses=gives(Answer[Submitted], 201) | gives(Answer[Submitted], 200, "The request id was known."),
)
async def submit_run(at: AtDesk, body: Submission) -> Response:
    """Submit a run of the newest version of a workflow. Status 200: the request id was known, with the same content."""
    data = await at.runs.submit(body.workflow, body.input, request_id=body.request_id)
    return answer("submit", data, 201 if data["admitted"] == "new" else 200)


@router.get("/runs", responses=gives(Answer[Page[RunSummary]]))
def list_runs(
    at: AtDesk,
    state: State = None,
    workflow: Filter = None,
    reason: Filter = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List runs, newest first."""
    page = at.runs.list(state=state, workflow=workflow, reason=reason, cursor=opened("runs", cursor), limit=limit)
    return answer("runs list", opaque("runs", page))


@router.get("/runs/{run}", responses=gives(Answer[Run]))
def show_run(at: AtDesk, run: Which) -> Response:
    """Show a run: what is established, pending and uncertain, who can move it, and its six records."""
    return answer("runs show", at.runs.show(run))


@router.post("/runs/{run}/resume", responses=gives(Answer[Moved]))
async def resume_run(at: AtDesk, run: Which, body: Resuming) -> Response:
    """Move a parked run on, with higher limits where a budget is spent."""
    return answer("runs resume", await at.runs.resume(run, raises=body.raises, reason=body.reason))


@router.post("/runs/{run}/retry", responses=gives(Answer[Moved]))
async def retry_run(at: AtDesk, run: Which) -> Response:
    """Take up a failed run, or one parked as step_failed. Finished operations answer for themselves."""
    return answer("runs retry", await at.runs.retry(run))


@router.post("/runs/{run}/cancel", responses=gives(Answer[Moved]))
async def cancel_run(at: AtDesk, run: Which, body: Cancelling) -> Response:
    """Cancel a run: nothing more is sent. What is in doubt is still asked for."""
    return answer("runs cancel", await at.runs.cancel(run, reason=body.reason))


@router.post("/runs/{run}/signals", responses=gives(Answer[Signalled]))
async def send_signal(at: AtDesk, run: Which, body: Signal) -> Response:
    """Deliver a signal. It is stored first and matched later; the same signal id twice is one signal."""
    return answer("signals send", await at.signals.send(run, body.name, body.payload, signal_id=body.signal_id))
