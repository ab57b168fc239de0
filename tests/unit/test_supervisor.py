"""The supervisor of worker processes, with processes that a test holds in its hand and a clock that it moves."""

import asyncio
from typing import Any, cast

from counterfoil.app.supervisor import FIRST_PAUSE_US, LIVED_US, LONGEST_PAUSE_US, Supervisor
from counterfoil.app.worker_process import WorkerProcess


class Process:
    """A worker process in name."""

    pid = 4711

    def __init__(self) -> None:
        self.heard: list[str] = []
        self.killed = asyncio.Event()
        self.answer: dict[str, Any] | None = None
        self._status: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def terminate(self) -> None:
        self.heard.append("terminate")

    def kill(self) -> None:
        self.heard.append("kill")
        self.killed.set()
        raise ProcessLookupError

    def end(self, status: int, answer: dict[str, Any] | None = None) -> None:
        self.answer = answer
        self._status.set_result(status)

    async def wait(self) -> int:
        return await self._status


class Pauses:
    """A clock whose pauses are over at once, and are written down."""

    def __init__(self) -> None:
        self.now = 0
        self.pauses: list[int] = []

    def now_us(self) -> int:
        return self.now

    def boot_us(self) -> int:
        return self.now

    async def wait(self, changed: asyncio.Event, until_us: int | None) -> bool:
        assert until_us is not None
        if changed.is_set():
            return True
        self.pauses.append(until_us - self.now)
        self.now = until_us
        return False


class Story:
    """A supervisor, and what it started."""

    def __init__(self, count: int = 1, **options: float) -> None:
        self.clock = Pauses()
        self.started: asyncio.Queue[Process] = asyncio.Queue()
        self.refuses = 0
        self.supervisor = Supervisor(self._start, count, self.clock, **options)
        self.part = asyncio.create_task(self.supervisor.run())

    async def _start(self) -> WorkerProcess:
        if self.refuses:
            self.refuses -= 1
            raise BlockingIOError("no more processes")
        process = Process()
        self.started.put_nowait(process)
        return cast("WorkerProcess", process)


def test_one_that_died_is_started_again_after_growing_pauses() -> None:
    async def story() -> None:
        here = Story()
        for _ in range(9):
            (await here.started.get()).end(-9)
        last = await here.started.get()
        assert here.clock.pauses[:3] == [FIRST_PAUSE_US, 2 * FIRST_PAUSE_US, 4 * FIRST_PAUSE_US]
        assert here.clock.pauses[-1] == LONGEST_PAUSE_US == max(here.clock.pauses)
        here.clock.now += LIVED_US
        last.end(1)
        again = await here.started.get()
        assert here.clock.pauses[-1] == FIRST_PAUSE_US, "it lived long: it died of something new"
        again.end(0, {"worker_id": "wrk_1", "ended_by": "idle", "problems": []})
        await asyncio.wait_for(here.part, 10)
        assert [answer["worker_id"] for answer in here.supervisor.answers] == ["wrk_1"]

    asyncio.run(story())


def test_a_process_that_cannot_be_started_is_tried_again() -> None:
    async def story() -> None:
        here = Story()
        here.refuses = 2
        process = await here.started.get()
        assert here.clock.pauses == [FIRST_PAUSE_US, 2 * FIRST_PAUSE_US]
        process.end(70, {"worker_id": "wrk_1", "ended_by": "idle", "problems": ["of ours"]})
        await asyncio.wait_for(here.part, 10)

    asyncio.run(story())


def test_all_are_told_and_the_second_time_killed() -> None:
    async def story() -> None:
        here = Story(2)
        processes = [await here.started.get() for _ in range(2)]
        here.supervisor.stop()
        assert [process.heard for process in processes] == [["terminate"]] * 2
        processes[0].end(0, {"worker_id": "wrk_1", "ended_by": "signal", "problems": []})
        here.supervisor.stop()
        assert processes[1].heard == ["terminate", "kill"]
        processes[1].end(-9)
        await asyncio.wait_for(here.part, 10)
        assert len(here.supervisor.answers) == 1 and here.started.empty()

    asyncio.run(story())


def test_one_that_does_not_end_is_killed_without_a_second_word() -> None:
    async def story() -> None:
        here = Story(2, leave_s=0)
        processes = [await here.started.get() for _ in range(2)]
        here.supervisor.stop()
        processes[0].end(0, {"worker_id": "wrk_1", "ended_by": "signal", "problems": []})
        await asyncio.wait_for(processes[1].killed.wait(), 10)
        assert (processes[0].heard, processes[1].heard) == (["terminate"], ["terminate", "kill"])
        processes[1].end(-9)
        await asyncio.wait_for(here.part, 10)

    asyncio.run(story())
