"""`client.incidents`, `client.writes`, `client.drills`, `client.workers`, `client.receivers`: what concerns the whole installation."""

from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.installation import (
    Incident,
    Receiver,
    Suspension,
    Unattended,
    Waiver,
    WorkerSeen,
    WritesStatus,
)


class ClientIncidents:
    """An incident is named by its id, a unique start of it, or a number such as `inc-3`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, *, open: bool = False, cursor: str | None = None, limit: int = 50) -> Page[Incident]:
        """One part of the list, newest first. `open`: only those that nobody has weighed yet."""
        return await self._calls.read("/incidents", Page[Incident], open=open, cursor=cursor, limit=limit)

    def each(self, *, open: bool = False) -> AsyncIterator[Incident]:
        """All of the list, part by part."""
        return each_of(self._calls, "/incidents", Page[Incident], open=open)

    async def show(self, incident: str) -> Incident:
        """One of them. Raises Refused(not_found)."""
        return await self._calls.read(f"/incidents/{part(incident)}", Incident)

    async def close(self, incident: str, *, reason: str) -> Incident:
        """Say that its evidence is weighed. Raises Refused(incident_closed, own_action)."""
        return await self._calls.act(f"/incidents/{part(incident)}/close", Incident, {"reason": reason})


class ClientWrites:
    """Name exactly one of a receiver, an operation, or all."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def status(self) -> WritesStatus:
        """Whether sending is stopped, where, by whom and why."""
        return await self._calls.read("/writes", WritesStatus)

    async def suspend(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> Suspension:
        """Nothing is sent there any more; asking goes on."""
        body = {"reason": reason, "receiver": receiver, "operation": operation, "all": all_}
        return await self._calls.act("/writes/suspend", Suspension, body)

    async def resume(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> Suspension:
        """Sending goes on. Raises Refused(not_suspended)."""
        body = {"reason": reason, "receiver": receiver, "operation": operation, "all": all_}
        return await self._calls.act("/writes/resume", Suspension, body)


class ClientDrills:
    """Operations without a review: what was rehearsed, and what a person waived."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def unattended(self) -> Page[Unattended]:
        """Each operation that is sent without a review, with the drill or the waiver that covers it."""
        return await self._calls.read("/unattended", Page[Unattended])

    async def waivers(self) -> Page[Waiver]:
        """The newest waiver of each operation, the ended too."""
        return await self._calls.read("/waivers", Page[Waiver])

    async def waive(self, operation: str, *, reason: str, until: str) -> Waiver:
        """Let it be sent without a drill until a day, a time, or so long from now. Raises Refused(waiver_end, not_permitted)."""
        return await self._calls.act("/waivers", Waiver, {"operation": operation, "reason": reason, "until": until})

    async def revoke(self, operation: str, *, reason: str) -> Waiver:
        """It covers nothing from now on. Raises Refused(no_waiver)."""
        return await self._calls.act("/waivers/revoke", Waiver, {"operation": operation, "reason": reason})


class ClientWorkers:
    """The processes that drive runs."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> Page[WorkerSeen]:
        """All of them, the newest first."""
        return await self._calls.read("/workers", Page[WorkerSeen])

    async def quiet(self, worker: str, *, reason: str) -> WorkerSeen:
        """It takes up nothing more and hands over what it drives; its process stays."""
        return await self._calls.act(f"/workers/{part(worker)}/quiet", WorkerSeen, {"reason": reason})

    async def wake(self, worker: str, *, reason: str) -> WorkerSeen:
        """It takes up runs again."""
        return await self._calls.act(f"/workers/{part(worker)}/wake", WorkerSeen, {"reason": reason})


class ClientReceivers:
    """The outside systems."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> Page[Receiver]:
        """All of them, with the contracts in force and the open doubts."""
        return await self._calls.read("/receivers", Page[Receiver])

    async def show(self, receiver: str) -> Receiver:
        """One of them, by its name."""
        return await self._calls.read(f"/receivers/{part(receiver)}", Receiver)

    async def pause(self, receiver: str, *, reason: str) -> Receiver:
        """Nothing is sent there until somebody resumes it; what is meant for it waits."""
        return await self._calls.act(f"/receivers/{part(receiver)}/pause", Receiver, {"reason": reason})

    async def resume(self, receiver: str, *, reason: str) -> Receiver:
        """Its pause is over, a person's or its breaker's. Raises Refused(not_paused)."""
        return await self._calls.act(f"/receivers/{part(receiver)}/resume", Receiver, {"reason": reason})
