"""What concerns the whole installation, over HTTP: incidents, stops, workers, receivers, finding, who is signed in."""

from typing import Annotated

from fastapi import Path, Query
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.installation import (
    Hit,
    Incident,
    Me,
    Receiver,
    Suspension,
    Unattended,
    Waiver,
    WorkerSeen,
    WritesStatus,
)
from counterfoil.console.api.bodies import Reasoned, Revoking, Stopping, Waiving
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import LONGEST, Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("installation")
Named = Annotated[str, Path(min_length=1, max_length=200)]


@router.get("/me", responses=gives(Answer[Me]))
def me(at: AtDesk) -> Response:
    """Who is signed in, and how that was shown."""
    return answer("me", at.me())


@router.get("/find", responses=gives(Answer[Page[Hit]]))
def find(
    at: AtDesk,
    text: Annotated[str, Query(min_length=1, max_length=LONGEST)],
    limit: Annotated[int, Query(ge=1, le=50)] = 20,
) -> Response:
    """Find whatever a text may mean: an id, its start, a number, a business key, a reference, a request id."""
    return answer("find", at.find(text, limit=limit))


@router.get("/incidents", responses=gives(Answer[Page[Incident]]))
def list_incidents(at: AtDesk, open: bool = False, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List incidents, newest first."""
    page = at.incidents.list(open_only=open, cursor=opened("incidents", cursor), limit=limit)
    return answer("incidents list", opaque("incidents", page))


@router.get("/incidents/{incident}", responses=gives(Answer[Incident]))
def show_incident(at: AtDesk, incident: Which) -> Response:
    """Show an incident: what the receiver says against the record."""
    return answer("incidents show", at.incidents.show(incident))


@router.post("/incidents/{incident}/close", responses=gives(Answer[Incident]))
async def close_incident(at: AtDesk, incident: Which, body: Reasoned) -> Response:
    """Say that its evidence is weighed: its business key is free again and its run goes on."""
    return answer("incidents close", await at.incidents.close(incident, reason=body.reason))


@router.get("/writes", responses=gives(Answer[WritesStatus]))
def writes_status(at: AtDesk) -> Response:
    """Whether sending is stopped, where, by whom and why."""
    return answer("writes status", at.writes.status())


@router.post("/writes/suspend", responses=gives(Answer[Suspension]))
async def suspend_writes(at: AtDesk, body: Stopping) -> Response:
    """Stop sending to a receiver, for an operation, or everywhere. Asking goes on."""
    data = await at.writes.suspend(reason=body.reason, receiver=body.receiver, operation=body.operation, all_=body.all)
    return answer("writes suspend", data)


@router.post("/writes/resume", responses=gives(Answer[Suspension]))
async def resume_writes(at: AtDesk, body: Stopping) -> Response:
    """Let sending go on, and wake the runs that were parked for it."""
    data = await at.writes.resume(reason=body.reason, receiver=body.receiver, operation=body.operation, all_=body.all)
    return answer("writes resume", data)


@router.get("/unattended", responses=gives(Answer[Page[Unattended]]))
def list_unattended(at: AtDesk) -> Response:
    """List the operations that are sent without a review, with the drill or the waiver that covers them."""
    return answer("unattended list", at.drills.unattended())


@router.get("/waivers", responses=gives(Answer[Page[Waiver]]))
def list_waivers(at: AtDesk) -> Response:
    """List the newest waiver of each operation, the ended too."""
    return answer("waivers list", at.drills.waivers())


@router.post("/waivers", responses=gives(Answer[Waiver]))
async def add_waiver(at: AtDesk, body: Waiving) -> Response:
    """Let an operation without a review be sent without a drill, for a while. The runs that waited for it are woken."""
    return answer("waivers add", await at.drills.waive(body.operation, reason=body.reason, until=body.until))


@router.post("/waivers/revoke", responses=gives(Answer[Waiver]))
async def revoke_waiver(at: AtDesk, body: Revoking) -> Response:
    """Take a waiver back: it covers nothing from now on."""
    return answer("waivers revoke", await at.drills.revoke(body.operation, reason=body.reason))


@router.get("/workers", responses=gives(Answer[Page[WorkerSeen]]))
def list_workers(at: AtDesk) -> Response:
    """List worker processes, the newest first."""
    return answer("workers list", at.workers.list())


@router.post("/workers/{worker}/quiet", responses=gives(Answer[WorkerSeen]))
async def quiet_worker(at: AtDesk, worker: Which, body: Reasoned) -> Response:
    """It takes up nothing more and hands over what it drives; its process stays."""
    return answer("workers quiet", await at.workers.quiet(worker, reason=body.reason))


@router.post("/workers/{worker}/wake", responses=gives(Answer[WorkerSeen]))
async def wake_worker(at: AtDesk, worker: Which, body: Reasoned) -> Response:
    """It takes up runs again."""
    return answer("workers wake", await at.workers.wake(worker, reason=body.reason))


@router.get("/receivers", responses=gives(Answer[Page[Receiver]]))
def list_receivers(at: AtDesk) -> Response:
    """List receivers: the contracts in force, open doubts, and how the last day went."""
    return answer("receivers list", at.receivers.list())


@router.get("/receivers/{receiver}", responses=gives(Answer[Receiver]))
def show_receiver(at: AtDesk, receiver: Named) -> Response:
    """Show one receiver."""
    return answer("receivers show", at.receivers.show(receiver))


@router.post("/receivers/{receiver}/pause", responses=gives(Answer[Receiver]))
async def pause_receiver(at: AtDesk, receiver: Named, body: Reasoned) -> Response:
    """Nothing is sent there until somebody resumes it. What is meant for it waits, visibly."""
    return answer("receivers pause", await at.receivers.pause(receiver, reason=body.reason))


@router.post("/receivers/{receiver}/resume", responses=gives(Answer[Receiver]))
async def resume_receiver(at: AtDesk, receiver: Named, body: Reasoned) -> Response:
    """End its pause, a person's or its breaker's. What waits is sent by itself."""
    return answer("receivers resume", await at.receivers.resume(receiver, reason=body.reason))
