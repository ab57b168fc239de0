"""The desk's nouns that are about the installation: incidents, stops, workers, receivers, people."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.desk.sight import Sight


class DeskIncidents:
    """As `app.incidents`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.incidents

    def list(self, *, open_only: bool = False, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first."""
        return self._noun.list(open_only=open_only, cursor=cursor, limit=limit)

    async def close(self, incident: str, *, reason: str) -> dict[str, Any]:
        """Say that its evidence is weighed, in the person's name."""
        return await self._noun.close(incident, by=self._sight.actor, reason=reason)


class DeskWrites:
    """As `app.writes`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.writes

    def status(self) -> dict[str, Any]:
        """`{suspended, restore, items}`: everybody who is signed in may know that sending is stopped."""
        return self._noun.status()

    async def suspend(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> dict[str, Any]:
        """Stop sending, in the person's name."""
        actor = self._sight.actor
        return await self._noun.suspend(by=actor, reason=reason, receiver=receiver, operation=operation, all_=all_)

    async def resume(
        self, *, reason: str, receiver: str | None = None, operation: str | None = None, all_: bool = False
    ) -> dict[str, Any]:
        """Let sending go on, in the person's name."""
        actor = self._sight.actor
        return await self._noun.resume(by=actor, reason=reason, receiver=receiver, operation=operation, all_=all_)


class DeskWorkers:
    """As `app.workers`."""

    def __init__(self, sight: Sight) -> None:
        self._noun = sight.app.workers

    def list(self) -> dict[str, Any]:
        """`{items: [WORKER], next_cursor}`."""
        return self._noun.list()


class DeskReceivers:
    """As `app.receivers`."""

    def __init__(self, sight: Sight) -> None:
        self._noun = sight.app.receivers

    def list(self) -> dict[str, Any]:
        """`{items: [RECEIVER], next_cursor}`."""
        return self._noun.list()

    def show(self, receiver: str) -> dict[str, Any]:
        """RECEIVER."""
        return self._noun.show(receiver)


class DeskPeople:
    """As `app.people`."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.people

    def list(self) -> dict[str, Any]:
        """`{items: [PERSON], next_cursor}`."""
        return self._noun.list()

    async def add(
        self, name: str, *, roles: Sequence[str] = (), secret: str, stand_in_for: str | None = None
    ) -> dict[str, Any]:
        """Add a person, in the name of who is signed in."""
        actor = self._sight.actor
        return await self._noun.add(name, roles=roles, secret=secret, stand_in_for=stand_in_for, by=actor)

    async def revoke(self, name: str) -> dict[str, Any]:
        """From now on that person decides nothing."""
        return await self._noun.revoke(name, by=self._sight.actor)
