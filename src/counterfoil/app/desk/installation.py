"""The desk's nouns that are about the installation: stops, restores, workers, receivers, people."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.desk.sight import EVERYWHERE, Sight
from counterfoil.model.access import Act
from counterfoil.model.errors import Refused


class DeskWrites:
    """As `app.writes`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.writes

    def status(self) -> dict[str, Any]:
        """`{suspended, restore, items}`. That sending is stopped is told to everybody who is signed in."""
        with self._sight.look() as look:
            everywhere = EVERYWHERE in look.places
            status = self._noun.status()
            return status if everywhere else status | {"items": [_where(item) for item in status["items"]]}

    async def suspend(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> dict[str, Any]:
        """Stop sending, in the person's name."""
        found = self._may(Act.SUSPEND_WRITES, operation)
        actor = self._sight.actor
        return await self._noun.suspend(by=actor, reason=reason, receiver=receiver, operation=found, all_=all_)

    async def resume(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> dict[str, Any]:
        """Let sending go on, in the person's name."""
        found = self._may(Act.RESUME_WRITES, operation)
        actor = self._sight.actor
        return await self._noun.resume(by=actor, reason=reason, receiver=receiver, operation=found, all_=all_)

    def _may(self, act: Act, operation: str | None) -> str | None:
        with self._sight.look() as look:
            found = None if operation is None else look.operation(operation)[0].operation_id
        self._sight.must(act)
        return found


class DeskDrills:
    """As `app.drills`, what a person does about it. Seen by whoever sees every run, or administers."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.drills

    def list(self) -> dict[str, Any]:
        """`{items: [DRILL], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.list() if self._sight.sees_installation() else _nothing()

    def waivers(self) -> dict[str, Any]:
        """`{items: [WAIVER], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.waivers() if self._sight.sees_installation() else _nothing()

    def unattended(self) -> dict[str, Any]:
        """`{items: [UNATTENDED], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.unattended() if self._sight.sees_installation() else _nothing()

    async def waive(self, operation: str, *, reason: str, until: str) -> dict[str, Any]:
        """Let an operation be sent without a drill, in the person's name and with an end. WAIVER."""
        self._sight.must(Act.RESUME_WRITES)
        return await self._noun.waive(operation, by=self._sight.actor, reason=reason, until=until)

    async def revoke(self, operation: str, *, reason: str) -> dict[str, Any]:
        """Take a waiver back, in the person's name. WAIVER."""
        self._sight.must(Act.SUSPEND_WRITES)
        return await self._noun.revoke(operation, by=self._sight.actor, reason=reason)


class DeskRestore:
    """As `app.restore`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.restore

    def status(self) -> dict[str, Any]:
        """Whether a restore is open; told to everybody who is signed in."""
        with self._sight.look():
            return self._noun.status()

    async def finish(self, *, as_: str, reason: str) -> dict[str, Any]:
        """Attest that every sender from before is gone, in the person's name."""
        self._sight.must(Act.FINISH_RESTORE)
        return await self._noun.finish(as_=as_, by=self._sight.actor, reason=reason)


class DeskWorkers:
    """As `app.workers`. Seen by whoever sees every run, or administers."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.workers

    def list(self) -> dict[str, Any]:
        """`{items: [WORKER], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.list() if self._sight.sees_installation() else {"items": [], "next_cursor": None}

    async def quiet(self, worker: str, *, reason: str) -> dict[str, Any]:
        """It takes up nothing more, in the person's name. WORKER. Whoever may stop sending may do this."""
        self._may(Act.SUSPEND_WRITES, worker)
        return await self._noun.quiet(worker, by=self._sight.actor, reason=reason)

    async def wake(self, worker: str, *, reason: str = "") -> dict[str, Any]:
        """It takes up runs again, in the person's name. WORKER."""
        self._may(Act.RESUME_WRITES, worker)
        return await self._noun.wake(worker, by=self._sight.actor, reason=reason)

    def _may(self, act: Act, worker: str) -> None:
        if not self._sight.sees_installation():
            raise Refused("not_found", what="worker", id=worker)
        self._sight.must(act)


class DeskDuties:
    """As `app.duties`. Seen by whoever sees every run, or administers."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.duties

    def list(self) -> dict[str, Any]:
        """`{items: [DUTY], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.list() if self._sight.sees_installation() else {"items": [], "next_cursor": None}


class DeskReceivers:
    """As `app.receivers`. Seen by whoever sees every run, or administers."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.receivers

    def list(self) -> dict[str, Any]:
        """`{items: [RECEIVER], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.list() if self._sight.sees_installation() else {"items": [], "next_cursor": None}

    def show(self, receiver: str) -> dict[str, Any]:
        """RECEIVER. Raises Refused(not_found)."""
        if not self._sight.sees_installation():
            raise Refused("not_found", what="receiver", id=receiver)
        return self._noun.show(receiver)

    async def pause(self, receiver: str, *, reason: str) -> dict[str, Any]:
        """Nothing is sent there until somebody resumes it, in the person's name. RECEIVER."""
        self._may(Act.SUSPEND_WRITES, receiver)
        return await self._noun.pause(receiver, by=self._sight.actor, reason=reason)

    async def resume(self, receiver: str, *, reason: str) -> dict[str, Any]:
        """What waits is sent, in the person's name. RECEIVER. Raises Refused(not_paused)."""
        self._may(Act.RESUME_WRITES, receiver)
        return await self._noun.resume(receiver, by=self._sight.actor, reason=reason)

    def _may(self, act: Act, receiver: str) -> None:
        if not self._sight.sees_installation():
            raise Refused("not_found", what="receiver", id=receiver)
        self._sight.must(act)


class DeskPeople:
    """As `app.people`. Seen by whoever sees every run, or administers; others see themselves."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.people

    def list(self) -> dict[str, Any]:
        """`{items: [PERSON], next_cursor}`."""
        every = self._sight.sees_installation()
        page = self._noun.list()
        return page | {"items": [each for each in page["items"] if every or each["name"] == self._sight.actor.person]}

    async def add(
        self, name: str, *, roles: Sequence[str] = (), secret: str, stand_in_for: str | None = None
    ) -> dict[str, Any]:
        """Add a person, in the name of who is signed in."""
        self._sight.must(Act.ADMINISTER)
        actor = self._sight.actor
        return await self._noun.add(name, roles=roles, secret=secret, stand_in_for=stand_in_for, by=actor)

    async def revoke(self, name: str) -> dict[str, Any]:
        """From now on that person decides nothing."""
        self._sight.must(Act.ADMINISTER)
        return await self._noun.revoke(name, by=self._sight.actor)


def _nothing() -> dict[str, Any]:
    return {"items": [], "next_cursor": None}


def _where(item: dict[str, Any]) -> dict[str, Any]:
    """A stop without its reason, and without the operation or the receiver that it names."""
    return item | {"scope": item["scope"].partition(":")[0], "reason": None}
