"""Named instants at which a crash is survivable and tested. Standard library only: this ships.

A COMMIT is one hit that lists the boundaries of its verbs. A send boundary lies directly before the first byte, a reply
boundary directly after the answer was read, the marker's flush is a boundary that is no COMMIT.
"""

import signal
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

COMMIT, SEND, REPLY, FLUSH = "commit", "send", "reply", "flush"


@dataclass(frozen=True, slots=True)
class Boundary:
    """`row` is the row of the path of data (ARCHITECTURE.md)."""

    name: str
    kind: str
    verb: str
    row: int


BOUNDARIES: tuple[Boundary, ...] = (
    Boundary(
        "installation.changed",
        COMMIT,
        "install, people, grants, tokens, sign-ins, suspensions, drills, waivers, restores",
        0,
    ),
    Boundary("run.submitted", COMMIT, "submit", 1),
    Boundary("run.claimed", COMMIT, "claim", 2),
    Boundary("lease.renewed", COMMIT, "renew", 2),
    Boundary("worker.seen", COMMIT, "register, heartbeat, stop", 2),
    Boundary("step.ended", COMMIT, "end step", 4),
    Boundary("step.try_failed", COMMIT, "count a failed try", 4),
    Boundary("call.drawn", COMMIT, "count a call of a tool that a budget limits", 4),
    Boundary("decision.asked", COMMIT, "ask the model", 5),
    Boundary("decision.accepted", COMMIT, "accept a decision", 6),
    Boundary("proposal.made", COMMIT, "propose", 7),
    Boundary("operation.prepared", COMMIT, "prepare", 8),
    Boundary("review.opened", COMMIT, "open review", 9),
    Boundary("review.answered", COMMIT, "answer", 9),
    Boundary("operation.in_flight", COMMIT, "mark in flight", 10),
    Boundary("marker.flushed", FLUSH, "flush the outside marker", 10),
    Boundary("operation.first_byte", SEND, "send", 10),
    Boundary("operation.replied", REPLY, "read the answer", 11),
    Boundary("operation.classified", COMMIT, "end attempt", 11),
    Boundary("operation.advanced", COMMIT, "ask the recovery table", 12),
    Boundary("operation.looked_up", COMMIT, "record a lookup", 12),
    Boundary("operation.resolved", COMMIT, "resolve", 12),
    Boundary("record.appended", COMMIT, "message, document", 4),
    Boundary("timer.opened", COMMIT, "open a timer", 4),
    Boundary("timer.fired", COMMIT, "fire a timer", 4),
    Boundary("signal.stored", COMMIT, "store a signal", 4),
    Boundary("signal.received", COMMIT, "receive a signal", 4),
    Boundary("child.started", COMMIT, "start a child", 4),
    Boundary("child.ended", COMMIT, "take a child's result", 4),
    Boundary("run.waiting", COMMIT, "suspend", 13),
    Boundary("run.parked", COMMIT, "park", 13),
    Boundary("run.resumed", COMMIT, "resume, retry", 13),
    Boundary("run.cancelled", COMMIT, "ask to cancel", 13),
    Boundary("run.finished", COMMIT, "finish", 13),
)
NAMES = frozenset(boundary.name for boundary in BOUNDARIES)

Observer = Callable[[str, Sequence[str]], None]  # ("before" | "after", the boundaries of the hit)


@dataclass(slots=True)
class CrashPoint:
    """Kill this process at the `hit`-th passing of a boundary: `when` is before or after it."""

    name: str
    when: str = "after"
    hit: int = 1
    how: signal.Signals = signal.SIGKILL


@dataclass(slots=True)
class Boundaries:
    """Where a process stands. `reach` is called by the engine; tests and drills observe, kill or freeze there."""

    crash: CrashPoint | None = None
    observers: list[Observer] = field(default_factory=lambda: [])
    hits: Counter[str] = field(default_factory=lambda: Counter())
    passed: Counter[str] = field(default_factory=lambda: Counter())

    def before(self, names: Sequence[str]) -> None:
        self._meet("before", names)

    def after(self, names: Sequence[str]) -> None:
        self.hits[_kind(names)] += 1
        self.passed.update(names)
        self._meet("after", names)

    def reach(self, name: str) -> None:
        """Pass a boundary that is no COMMIT."""
        self.before((name,))
        self.after((name,))

    def _meet(self, when: str, names: Sequence[str]) -> None:
        for observer in self.observers:
            observer(when, names)
        crash = self.crash
        if crash is not None and crash.when == when and crash.name in names:
            crash.hit -= 1
            if crash.hit == 0:
                # To this thread: a signal to the process may let it run on a little, past the boundary.
                signal.pthread_kill(threading.get_ident(), crash.how)


_KINDS = {boundary.name: boundary.kind for boundary in BOUNDARIES}


def _kind(names: Sequence[str]) -> str:
    return _KINDS[names[0]]


def crash_point(text: str | None) -> CrashPoint | None:
    """`NAME`, `before:NAME` or `after:NAME`, with `#N` for the N-th hit. None for none or nothing."""
    if not text or text == "none":
        return None
    when, _, name = text.rpartition(":")
    name, _, hit = name.partition("#")
    if name not in NAMES or when not in ("", "before", "after") or not (hit or "1").isdigit() or int(hit or 1) < 1:
        raise ValueError(text)  # a point that never fires would be a drill that kills nobody, silently
    return CrashPoint(name, when or "after", int(hit or 1))
