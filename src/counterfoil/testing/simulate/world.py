"""The world of one simulation: its time, its processes, and who goes next; all of it drawn from one seed."""

import asyncio
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from random import Random
from typing import Any

from counterfoil.testing.simulate.loop import SimulatedLoop
from counterfoil.testing.simulate.trace import Trace

START_US = 1_000_000_000  # what the clock that counts sleep says at the beginning
WALL_AHEAD_US = 1_800_000_000_000_000 - START_US
PROMPT = 16  # after so many turns timers are looked at, though somebody is still busy
LONGEST_STRETCH = 200_000  # turns without time going on: something turns in circles


class Died(BaseException):
    """The simulated process is dead: it is raised through whatever it was doing, and nothing of it goes on."""


class Stuck(Exception):
    """The processes turn in circles: no time passes any more."""


class Process:
    """One simulated process: a loop, and whether it lives or is frozen. `pace` weighs how often it gets its turn."""

    def __init__(self, world: "World", name: str, number: int, pace: float) -> None:
        self.world = world
        self.name = name
        self.number = number
        self.pace = pace
        self.alive = True
        self.frozen = False
        self.slow_us = 0  # how much longer each commit takes: a slow disk
        self.problems: list[BaseException] = []
        self.loop = SimulatedLoop(self, lambda: world.boot_us, self._failed)
        self.reason_at: Callable[[], int | None] = lambda: None  # when a look may find something

    def start(self, body: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        """Run a coroutine in it. What it raises is a problem of the process."""
        part: asyncio.Task[Any] = self.loop.create_task(body)
        part.add_done_callback(self._ended)
        return part

    def die(self) -> None:
        """SIGKILL: no coroutine of it goes on, nothing of it is written or sent any more. Raises Died in the process itself."""
        if self.alive:
            self.alive = False
            self.world.trace.note(self.name, "dies")
            self.world.processes.remove(self)
            self.world.graves.append(self)  # kept: what Python destroys runs its `finally`
        if current_process() is self:
            raise Died

    def freeze(self, seconds: float) -> None:
        """SIGSTOP, and SIGCONT after so long."""
        if self.alive and not self.frozen:
            self.frozen = True
            self.world.trace.note(self.name, f"freezes for {seconds:.3f} s")
            self.world.outside.loop.call_later(seconds, self.thaw)

    def thaw(self) -> None:
        """It goes on where it stopped."""
        if self.frozen:
            self.frozen = False
            self.world.trace.note(self.name, "thaws")

    def check(self) -> None:
        """Raises Died: before anything that would be seen outside the process."""
        if not self.alive:
            raise Died

    def _ended(self, part: "asyncio.Task[Any]") -> None:
        if not part.cancelled() and part.exception() is not None:
            self._failed(part.exception() or RuntimeError())

    def _failed(self, problem: BaseException) -> None:
        if self.alive and not isinstance(problem, Died):
            self.problems.append(problem)
            self.world.trace.note(self.name, f"problem {type(problem).__name__}")


class World:
    """`boot_us` counts sleep and never jumps; `wall_us` may be set. `outside` is what is no process of ours."""

    def __init__(self, seed: int) -> None:
        self.seed = seed
        self.boot_us = START_US
        self._wall_ahead = WALL_AHEAD_US
        self.set_back_us = 0  # in all
        self.boot = 1
        self.trace = Trace(lambda: self.boot_us)
        self.faults: Counter[str] = Counter()
        self.processes: list[Process] = []
        self.graves: list[Process] = []
        self.locks: dict[str, Process | None] = {}
        self.rates: Mapping[str, float] = {}
        self.is_calm = False  # no disturbance begins any more
        self._order = self.chance("order")
        self._numbers = 0
        self._turns = 0
        self.outside = self.process("outside")

    def chance(self, name: str) -> Random:
        """A stream of chance of its own: what one part draws does not move what another draws."""
        return Random(f"{self.seed}/{name}")

    @property
    def wall_us(self) -> int:
        """The host's wall clock."""
        return self.boot_us + self._wall_ahead

    def step_clock(self, seconds: float) -> None:
        """Somebody sets the wall clock."""
        self.set_back_us += max(0, -round(seconds * 1_000_000))
        self._wall_ahead += round(seconds * 1_000_000)
        self.trace.note("host", f"sets its clock by {seconds:.3f} s")

    @property
    def clock_is_off_by(self) -> float:
        """Seconds by which the wall clock was set since the beginning."""
        return (self._wall_ahead - WALL_AHEAD_US) / 1_000_000

    def process(self, name: str) -> Process:
        """A new process."""
        self._numbers += 1
        made = Process(self, name, self._numbers, self._order.choice((1.0, 1.0, 1.0, 0.2, 5.0)))
        self.processes.append(made)
        return made

    def pass_time(self, microseconds: int) -> None:
        """Work takes time."""
        self.boot_us += microseconds

    def chance_of(self, fault: str) -> float:
        """How likely a disturbance is now."""
        return 0.0 if self.is_calm else self.rates.get(fault, 0.0)

    def hit(self, fault: str) -> None:
        """Count a disturbance that really happened."""
        self.faults[fault] += 1

    def run_until(self, over: Callable[[], bool], until_us: int) -> bool:
        """Turn by turn, until it is over (True), or that time has come. Raises Stuck."""
        stretch = 0
        while not over():
            free = [process for process in self.processes if not process.frozen and process.loop.ready]
            if free:
                stretch += 1
                if stretch > LONGEST_STRETCH:
                    raise Stuck(", ".join(process.name for process in free))
                self._turns += 1
                if self._turns % PROMPT == 0:
                    self._wake_timers()
                one = free[0] if len(free) == 1 else self._order.choices(free, [each.pace for each in free])[0]
                one.loop.turn()
                self.boot_us += self._order.randrange(0, 40)
                continue
            stretch = 0
            if not self._jump(until_us):
                return False
        return True

    def _wake_timers(self) -> None:
        """Time went on while others were busy: a timer that is due does not wait until all of them are quiet."""
        for process in self.processes:
            if not process.frozen:
                process.loop.wake_due(None)

    def _jump(self, until_us: int) -> bool:
        """Nobody has anything to do: to the next timer. False when none comes before `until_us`."""
        waiting = [(process, process.reason_at()) for process in self.processes if not process.frozen]
        nexts = [at for process, reason in waiting if (at := process.loop.next_at(reason)) is not None]
        if not nexts or min(nexts) > until_us:
            self.boot_us = max(self.boot_us, until_us)
            return False
        self.boot_us = max(self.boot_us, min(nexts))
        for process, reason in waiting:
            process.loop.wake_due(reason)
        return True


def current_process() -> Process | None:
    """The process whose turn it is."""
    loop = asyncio._get_running_loop()  # pyright: ignore[reportPrivateUsage]
    return loop.owner if isinstance(loop, SimulatedLoop) else None


def here() -> Process:
    """The process whose turn it is; there is one."""
    process = current_process()
    assert process is not None, "only within a simulated process"
    return process
