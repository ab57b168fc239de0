"""Faults: somebody sets the wall clock, back or forward, while a run is under way; later the clocks agree again.

With libfaketime it is the clock of the process itself that is set: it is loaded into a fork server of its own, and a file
says how far the wall clock is off; the clock that counts sleep stays true. Where it is not installed our own clock is
moved in the same way, and the proof says so.
"""

import asyncio
import select
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.living import BEAT, OVER_BY_ITSELF, Looks, lived, told
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import Say, placed
from counterfoil.drills.stage import Stage
from counterfoil.engine.clock import CLOCK_MARGIN_US, MICROSECONDS
from counterfoil.model.run import RunRecord
from counterfoil.testing.children import Child
from counterfoil.testing.clock import SharedClock

# Before the send, in flight on both sides of the wire, and while somebody is waited for.
AT = ("operation.prepared", "review.opened", "operation.in_flight", "operation.replied")
STEP_S = 2 * 3600
LIBRARY = "libfaketime.so.1"
# The file is read again after a second, and the clocks that count from the start of the machine stay as they are. Waits
# inside the interpreter are left as they are, too.
SETTINGS = {
    "FAKETIME_CACHE_DURATION": "1",
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "FAKETIME_FORCE_MONOTONIC_FIX": "1",
    "NO_FAKE_STAT": "1",
}
SEEN_WITHIN_US = 5 * MICROSECONDS
PLACES = (
    "/usr/lib/*/faketime",
    "/usr/lib/faketime",
    "/usr/lib64/faketime",
    "/usr/local/lib/faketime",
    "/opt/homebrew/lib/faketime",
)


def cases(fault: str) -> Callable[[Learned], Iterator[Planned]]:
    """At each of these boundaries, as often as it was passed."""

    def found(learned: Learned) -> Iterator[Planned]:
        return (learned.planned(passed, fault) for passed in learned.at(*AT))

    return found


def stepped_back(stage: Stage, planned: Planned) -> Applied:
    """The wall clock is set two hours back at the boundary, and right again once the run is at rest."""
    return _stepped(stage, planned, -STEP_S)


def stepped_forward(stage: Stage, planned: Planned) -> Applied:
    """The wall clock is set two hours forward at the boundary, and right again once the run is at rest."""
    return _stepped(stage, planned, STEP_S)


def library() -> Path | None:
    """The library of libfaketime, None where it is not installed."""
    for place in PLACES:
        root, _, pattern = place.partition("*")
        folders = sorted(Path(root).glob(f"*{pattern}")) if pattern else [Path(place)]
        found = [folder / LIBRARY for folder in folders if (folder / LIBRARY).is_file()]
        if found:
            return found[0]
    return None


def _stepped(stage: Stage, planned: Planned, seconds: int) -> Applied:
    wall = stage.folder / "wall"
    set_wall(wall, 0)
    child, how = _started(stage, wall, at=planned.boundary, seconds=seconds)
    child.children.until(child, lambda: "at_rest" in said(child), "did not come to rest")
    at_rest = said(child)
    if "stepped" not in at_rest:
        raise NotApplied(f"{planned.boundary} was not passed: {at_rest}")
    moved = at_rest["stepped"]
    off = (moved["wall_after_us"] - moved["wall_before_us"]) - (moved["boot_after_us"] - moved["boot_before_us"])
    if abs(off - seconds * MICROSECONDS) > CLOCK_MARGIN_US:
        raise NotApplied(f"The wall clock was to move by {seconds} s and moved by {off / MICROSECONDS:.1f} s: {moved}")
    at = stage.now()
    set_wall(wall, 0)
    child.wait()
    last = said(child)
    if child.exit_code != 0:
        raise NotApplied(
            f"The clocks agreed again, and child {child.pid} ended with {child.status}. {child.wrote()[-2000:]}"
        )
    begun = last["begun_while_apart"]
    wrong = [f"{begun} attempts were begun while the clocks disagreed."] if begun else []
    if last["at_rest"]["reason"] == "clock_jump":
        wrong.append("The clocks agree again, and the run is still parked as clock_jump.")
    proof: dict[str, Any] = {
        "how": how, "seconds": seconds, "read_by_the_child": moved, "at_rest_while_apart": at_rest["at_rest"],
        "agreed_again": last["agreed"], "begun_while_apart": begun, "at_rest": last["at_rest"],
    }  # fmt: skip
    return Applied(at=at, proof=proof, wrong=tuple(wrong))


def _started(stage: Stage, wall: Path, **arguments: Any) -> tuple[Child, str]:
    found = library()
    if found is None:
        return stage.start(
            f"{__name__}:stepping", wall=str(wall), injected=True, **arguments
        ), "our own clock: no libfaketime here"
    faked = stage.children.beside({"LD_PRELOAD": str(found), **SETTINGS})
    own, stage.children = stage.children, faked
    try:
        environ = {"FAKETIME_TIMESTAMP_FILE": str(wall)}
        return stage.start(
            f"{__name__}:stepping", wall=str(wall), environ=environ, **arguments
        ), f"libfaketime: {found}"
    finally:
        stage.children = own


def set_wall(file: Path, seconds: int) -> None:
    """How far the wall clock is off, as libfaketime reads it; replaced as a whole, since it is read at every look."""
    fresh = file.with_name(f"{file.name}.new")
    fresh.write_text(f"{seconds:+d}\n")
    fresh.replace(file)


# ---------------------------------------------------------------------- the child


class SteppedClock(SharedClock):
    """The case's clock with a wall that a file moves: what libfaketime does to the process, done to our own clock."""

    def __init__(self, shared: Path, wall: Path) -> None:
        super().__init__(shared)
        self._wall = wall

    def now_us(self) -> int:
        """The wall clock."""
        return super().now_us() + int(self._wall.read_text()) * MICROSECONDS


def stepping(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A life in which the wall clock is set at a boundary, and set right by somebody else once this has come to rest.

    Says {stepped: both clocks before and after}, {at_rest, begun_while_apart} while they disagree, {agreed}, {at_rest}.
    """
    if not arguments.get("injected"):
        time.sleep = _sleep  # noqa: TID251 - for the code of the drilled workflow, in this child alone
    placed(app, arguments, say)
    wall = Path(arguments["wall"])
    if arguments.get("injected"):
        app.close()
        app.clock = SteppedClock(Path(arguments["clock"]), wall)
        app.open()
    apart = Apart(app, arguments["at"], wall, arguments["seconds"], say)
    app.boundaries.observers.append(apart.met)
    asyncio.run(lived(app, arguments, say, Looks(rest=apart.rest)))
    app.close()


def _sleep(seconds: float) -> None:
    """In the place of `time.sleep`, which waits for an instant of a clock: libfaketime 0.9.10 refuses that (EINVAL)."""
    if seconds < 0:
        raise ValueError("sleep length must be non-negative")
    select.select([], [], [], seconds)


class Apart:
    """The clocks of one life: stepped at a boundary, apart until somebody sets them right, then agreeing."""

    def __init__(self, app: App, at: str, wall: Path, seconds: int, say: Say) -> None:
        self._app, self._say, self._wall, self._seconds = app, say, wall, seconds
        self._name, _, hit = at.partition("#")
        self._left = int(hit)
        self._rested = False
        self._begun = 0  # attempts that were begun before the step
        self._beats: int | None = None  # heartbeats until the clocks agreed again

    def met(self, when: str, names: Sequence[str]) -> None:
        """At boundaries: set the wall clock."""
        if when == "after" and self._name in names:
            self._left -= 1
            if self._left == 0:
                before = self._read("before")
                self._begun = self._app.boundaries.passed["operation.in_flight"]
                set_wall(self._wall, self._seconds)
                self._until_seen(before["wall_before_us"] - before["boot_before_us"])
                self._say({"stepped": {**before, **self._read("after")}})

    def rest(self, run: RunRecord) -> bool:
        """First tell that it rests while the clocks disagree; then wait until they agree, and a worker has looked twice."""
        if not self._rested:
            self._rested = True
            begun = self._app.boundaries.passed["operation.in_flight"] - self._begun
            self._say({"at_rest": told(run), "begun_while_apart": begun})
        if self._app.open().clock_jumped():
            return False
        beats = self._app.boundaries.passed["worker.seen"]
        if self._beats is None:
            self._beats = beats
            self._say({"agreed": self._read("agreed")})
        if run.reason not in OVER_BY_ITSELF or beats - self._beats >= 2:
            return True
        if isinstance(self._app.clock, SharedClock):
            self._app.clock.advance(BEAT)
        return False

    def _until_seen(self, offset: int) -> None:
        """Nothing goes on here before this process sees the other time."""
        clock = self._app.clock
        until = clock.boot_us() + SEEN_WITHIN_US
        while abs(clock.now_us() - clock.boot_us() - offset) < CLOCK_MARGIN_US and clock.boot_us() < until:
            pass

    def _read(self, when: str) -> dict[str, int]:
        clock = self._app.clock
        return {f"wall_{when}_us": clock.now_us(), f"boot_{when}_us": clock.boot_us()}
