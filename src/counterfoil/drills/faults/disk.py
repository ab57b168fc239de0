"""Fault: the disk is full at one commit, and has room again once that was missed. RLIMIT_FSIZE: the system refuses the bytes."""

import asyncio
import errno
import os
import resource
import signal
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
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
ROOM_BYTES = 512  # what still fits: the first page of the commit is torn


def cases(learned: Learned) -> Iterator[Planned]:
    """At each of these commits, as often as it was made."""
    return (learned.planned(passed, "disk-full") for passed in learned.at(*AT))


def play(stage: Stage, planned: Planned) -> Applied:
    """One process meets the full disk and goes on when there is room. Then another one looks again."""
    told = said(stage.lives(f"{__name__}:starved", at=planned.boundary))
    if told.get("errno") != "EFBIG" or not told.get("met"):
        raise NotApplied(f"No write was refused at {planned.boundary}: {told}")
    wrong: list[str] = []
    if planned.boundary.startswith("operation.in_flight#") and told["sent_meanwhile"]:
        wrong.append("A request left although its in-flight record could not be written.")
    applied = Applied(at=stage.now(), proof=told, wrong=tuple(wrong))
    stage.lives("counterfoil.drills.faults.living:goes_on")
    return applied


def starved(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A life whose disk is full from one commit until that was missed.

    Says {rlimit_fsize, log_bytes, errno}, and once there is room {met, sent_meanwhile, lifted}.
    """
    placed(app, arguments, say)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # the write is told EFBIG instead of the process being ended
    starving = Starving(app, arguments["at"], say)
    app.boundaries.observers.append(starving.met)
    looks = Looks(each=starving.look, trouble=starving.trouble, rest=lambda _: not starving.active)
    asyncio.run(lived(app, arguments, say, looks))
    app.close()


class Starving:
    """RLIMIT_FSIZE of this process, from one commit until its failure was seen."""

    def __init__(self, app: App, at: str, say: Say) -> None:
        self._app, self._say = app, say
        self._name, _, hit = at.partition("#")
        self._left = int(hit)
        self._room = resource.getrlimit(resource.RLIMIT_FSIZE)
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
            resource.setrlimit(resource.RLIMIT_FSIZE, self._room)
            self.active = False
            sent = self._app.boundaries.passed["operation.first_byte"] - self._sent
            lifted = list(resource.getrlimit(resource.RLIMIT_FSIZE))
            self._say({"met": list(self._failed), "sent_meanwhile": sent, "lifted": lifted})

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
        location = self._app.open().location
        log = location.with_name(location.name + "-wal")
        size = log.stat().st_size
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + ROOM_BYTES, self._room[1]))
        self.active, self._sent = True, self._app.boundaries.passed["operation.first_byte"]
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        self._say({"rlimit_fsize": list(limit), "log_bytes": size, "errno": _refused(location.parent, limit[0])})


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
        "sqlite": type(cause).__name__,
        "extended": getattr(cause, "extendedresult", None),
        "message": str(cause),
    }
