"""Fault: the disk is full at one commit, and has room again once that was missed.

A file's: RLIMIT_FSIZE, so the system refuses the bytes. A server's: the server itself refuses the batch with the code for this.
"""

import asyncio
import errno
import os
import resource
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from counterfoil.app.application import App
from counterfoil.app.located import InFile, located
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.living import Looks, lived
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import Say, placed
from counterfoil.drills.stage import Stage
from counterfoil.store.port import Outcome, StorageError, Verb

# The commits of steps, decisions and of the whole send path.
AT = (
    "run.submitted", "step.ended", "decision.asked", "decision.accepted", "proposal.made", "operation.prepared", "review.opened",
    "review.answered", "operation.in_flight", "operation.classified", "run.finished",
)  # fmt: skip
NO_ROOM = "53100"  # the server's code
ROOM_BYTES = 512  # what still fits: the first page of the commit is torn


def cases(learned: Learned) -> Iterator[Planned]:
    """At each of these commits, as often as it was made."""
    return (learned.planned(passed, "disk-full") for passed in learned.at(*AT))


def play(stage: Stage, planned: Planned) -> Applied:
    """One process meets the full disk and goes on when there is room. Then another one looks again."""
    told = said(stage.lives(f"{__name__}:starved", at=planned.boundary))
    if told.get("refused_with") not in ("EFBIG", NO_ROOM) or not told.get("met"):
        raise NotApplied(f"No write was refused at {planned.boundary}: {told}")
    wrong: list[str] = []
    if planned.boundary.startswith("operation.in_flight#") and told["sent_meanwhile"]:
        wrong.append("A request left although its in-flight record could not be written.")
    applied = Applied(at=stage.now(), proof=told, wrong=tuple(wrong))
    stage.lives("counterfoil.drills.faults.living:goes_on")
    return applied


def starved(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A life whose disk is full from one commit until that was missed.

    Says {refused_with, ...}, and once there is room {met, sent_meanwhile, lifted}.
    """
    placed(app, arguments, say)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write is told EFBIG instead of the process being ended
    where = located(app.db)
    room = FileRoom(where.path) if isinstance(where, InFile) else ServerRoom(arguments["db"])
    starving = Starving(app, arguments["at"], room, say)
    app.boundaries.observers.append(starving.met)
    looks = Looks(each=starving.look, trouble=starving.trouble, rest=lambda _: not starving.active)
    asyncio.run(lived(app, arguments, say, looks))
    app.close()


class Room(Protocol):
    """What a ledger's disk has, or has not."""

    def take(self) -> dict[str, Any]:
        """From here on there is none: {refused_with, ...}."""
        ...

    def give_back(self) -> dict[str, Any]:
        """There is room again: {lifted}."""
        ...


class FileRoom:
    """RLIMIT_FSIZE of this process."""

    def __init__(self, file: Path) -> None:
        self._log = file.with_name(file.name + "-wal")
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def take(self) -> dict[str, Any]:
        """Behind what the log holds now."""
        size = self._log.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + ROOM_BYTES, self._before[1]))
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        refused = _refused(self._log.parent, limit[0])
        return {"rlimit_fsize": list(limit), "log_bytes": size, "refused_with": refused}

    def give_back(self) -> dict[str, Any]:
        """As it was."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)
        return {"lifted": list(resource.getrlimit(resource.RLIMIT_FSIZE))}


class ServerRoom:
    """The server answers each batch of this ledger as one whose disk is full."""

    def __init__(self, db: str) -> None:
        self._db = db

    def take(self) -> dict[str, Any]:
        """Nothing of the batch that comes now was written yet."""
        from counterfoil.testing.case_schema import without_room

        without_room(self._db)
        return {"refused_with": NO_ROOM}

    def give_back(self) -> dict[str, Any]:
        """As it was."""
        from counterfoil.testing.case_schema import with_room

        with_room(self._db)
        return {"lifted": True}


class Starving:
    """No room, from one commit until its failure was seen."""

    def __init__(self, app: App, at: str, room: Room, say: Say) -> None:
        self._app, self._room, self._say = app, room, say
        self._name, _, hit = at.partition("#")
        self._left = int(hit)
        self.active = False
        self._failed: list[dict[str, Any]] = []
        self._sent = 0
        database: Any = app.open().database
        self._apply = database.apply
        database.apply = self._watched

    def met(self, when: str, names: Sequence[str]) -> None:
        """At boundaries: let the commit that comes now be without room."""
        if when == "before" and self._name in names:
            self._left -= 1
            if self._left == 0:
                self._starve()

    def look(self) -> None:
        """There is room again once a commit failed. Until this look others fail as well."""
        if self.active and self._failed:
            lifted = self._room.give_back()
            self.active = False
            sent = self._app.boundaries.passed["operation.first_byte"] - self._sent
            self._say({"met": list(self._failed), "sent_meanwhile": sent, **lifted})

    def trouble(self, problem: BaseException) -> None:
        """A worker or a submission was told of it. Anything else is a defect of the product."""
        if not isinstance(problem, StorageError):
            raise problem
        self.look()

    def _watched(self, verbs: Sequence[Verb]) -> list[Outcome]:
        try:
            return self._apply(verbs)
        except StorageError as problem:
            self._failed.append(_facts(problem))
            raise

    def _starve(self) -> None:
        facts = self._room.take()
        self.active, self._sent = True, self._app.boundaries.passed["operation.first_byte"]
        self._say(facts)


def _refused(folder: Path, limit: int) -> str | None:
    """What the system says to a write behind the limit in this folder."""
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            os.pwrite(file.fileno(), b"x", limit)
        except OSError as problem:
            return errno.errorcode[problem.errno or 0]
    return None


def _facts(problem: StorageError) -> dict[str, Any]:
    cause = problem.__cause__  # of now: whoever raises it again may put another one there
    return {
        "code": problem.code,
        "cause": type(cause).__name__,
        "extended": getattr(cause, "extendedresult", None),
        "message": str(cause),
    }
