"""What children do on a disk that fails: a file's, cut by the layer under SQLite, or a server's, as its client meets it."""

import asyncio
import os
import socket
from collections.abc import Sequence
from pathlib import Path
from threading import get_ident
from typing import Any, Protocol

from counterfoil import App, Refused
from counterfoil.store.postgres_address import is_postgres
from counterfoil.testing.bench_child import place
from counterfoil.testing.case_schema import cut_off, with_room, without_room
from counterfoil.testing.powercut import PowerCut
from tests.crash import story
from tests.crash.lives import FOUNDING, Say, lived


class Disk(Protocol):
    """The commit that comes now fails; from `mend` on no other one does."""

    def fill(self) -> None:
        """There is no room."""
        ...

    def fail_a_flush(self, database: Any) -> None:
        """It is not written, and whoever asked for it is not told so in words."""
        ...

    def mend(self) -> None:
        """As it was."""
        ...

    def close(self) -> None:
        """Behind the last access."""
        ...


class FileDisk:
    """The layer under SQLite, for each file that this process opens from now on."""

    def __init__(self) -> None:
        self._power = PowerCut(default=True)

    def fill(self) -> None:
        self._power.disk_full_after(0)

    def fail_a_flush(self, database: Any) -> None:
        del database
        self._power.flush_fails_at(self._power.flushes + 1)

    def mend(self) -> None:
        self._power.disk_full_after(None)

    def close(self) -> None:
        self._power.close()


class ServerDisk:
    """The server refuses batches with its code for a full disk; a flush that fails ends it, and so the connection of whoever waits."""

    def __init__(self, db: str) -> None:
        self._db, self._full = db, False

    def fill(self) -> None:
        without_room(self._db)
        self._full = True

    def fail_a_flush(self, database: Any) -> None:
        cut_off(database, socket.SHUT_RDWR)

    def mend(self) -> None:
        if self._full:
            with_room(self._db)
        self._full = False

    def close(self) -> None:
        """A server's is not ours."""


def disk_under(db: str) -> Disk:
    """The one on which a ledger lies that nobody here has opened yet."""
    return ServerDisk(db) if is_postgres(db) else FileDisk()


def fail(disk: Disk, app: App, lacks: str) -> None:
    """Let the commit that comes now fail."""
    if lacks == "room":
        disk.fill()
    else:
        disk.fail_a_flush(app.open().database)


def crowd(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Many submit at once while something is lacking, and again when it is back. Says what they were told each time."""
    disk = disk_under(arguments["db"])
    place(app, arguments, say)
    app.open(FOUNDING)

    async def submitted() -> list[str]:
        orders = [app.submit(story.part, story.Order(number=str(n), amount=n), request_id=str(n)) for n in range(8)]
        answers = await asyncio.gather(*orders, return_exceptions=True)
        return [a.code if isinstance(a, Refused) else str(getattr(a, "admitted", repr(a))) for a in answers]

    async def body() -> None:
        app.boundaries.observers.append(met)
        say({"told": await submitted()})
        disk.mend()
        say({"told": await submitted()})

    def met(when: str, names: Sequence[str]) -> None:
        if when == "before" and len(names) > 1:  # a commit of several verbs, the first time
            app.boundaries.observers.remove(met)
            fail(disk, app, arguments["lacks"])

    asyncio.run(body())
    app.close()
    disk.close()


def starved(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, while something is lacking at one boundary: {at, lacks: room, flush or marker}. It comes back once it was missed."""
    disk = disk_under(arguments["db"])
    place(app, arguments, say)
    opened = app.open(FOUNDING)
    state, lacks = Path(os.environ["COUNTERFOIL_STATE"]), arguments["lacks"]
    blocked = state / "nothing"
    begun = False

    def met(when: str, names: Sequence[str]) -> None:
        nonlocal begun, blocked
        if begun or when != "before" or arguments["at"] not in names:
            return
        begun = True
        if lacks == "marker":
            # What the thread that commits, and then flushes the marker, writes beside it first.
            blocked = state / f"{opened.installation_id}.json.{os.getpid()}.{get_ident()}.new"
            blocked.mkdir()
        else:
            fail(disk, app, lacks)

    def missed() -> None:
        say({"writes": len(story.records("key"))})
        disk.mend()
        if blocked.exists():
            blocked.rmdir()

    app.boundaries.observers.append(met)
    asyncio.run(lived(app, arguments, missed))
    app.close()
    disk.close()
