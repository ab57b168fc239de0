"""A worker that has its process to itself: who tells it to end, what it does with its memory, and what it leaves in the log."""

import asyncio
import gc
import os
import signal
import traceback
from collections.abc import Callable
from pathlib import Path

from counterfoil.engine.worker import Worker

SHOWN = 20  # problems in an answer; the log has all of them
LONGEST = 500  # characters of one


def freeze_memory() -> None:
    """For processes that are ours alone, once everything is loaded.

    What was imported lives as long as the process, so that looking through it again at each collection is lost time: a tenth
    to a seventh of what a busy worker does. A step makes some hundred objects that die without the collector; at the usual
    threshold of 700 it would be called with nearly every step of a batch.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


async def drive_until_told(worker: Worker, listening: Callable[[], None], *, until_idle: bool) -> str:
    """Drive until SIGTERM or Ctrl-C. The second one ends the process at once. Gives why it ended: signal or idle.

    `listening` is called as soon as a signal is heard.
    """
    loop = asyncio.get_running_loop()
    told: list[int] = []

    def stop(number: int) -> None:
        told.append(number)
        worker.stop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)  # the second one is not asked to wait

    _listen(loop, stop)
    listening()
    return await _driven(worker, told, until_idle)


async def drive_for_parent(worker: Worker, listening: Callable[[], None], parent: int, *, until_idle: bool) -> str:
    """Drive until told by a signal, or until the parent is gone: nobody else holds the other end of the pipe `parent`.

    A second signal changes nothing. A service manager tells every process of a group, and our parent tells us as well;
    ending at once would count as a crash of the runs that are driven here. Whoever is in a hurry kills.
    """
    told: list[int] = []

    def stop(number: int) -> None:
        told.append(number)
        worker.stop()

    def heard() -> None:
        if not os.read(parent, 4096):
            loop.remove_reader(parent)
            stop(signal.SIGHUP)

    loop = asyncio.get_running_loop()
    _listen(loop, stop)
    loop.add_reader(parent, heard)
    listening()
    try:
        return await _driven(worker, told, until_idle)
    finally:
        loop.remove_reader(parent)


def _listen(loop: asyncio.AbstractEventLoop, stop: Callable[[int], None]) -> None:
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)


async def _driven(worker: Worker, told: list[int], until_idle: bool) -> str:
    await worker.run(until_idle=until_idle)
    return "signal" if told else "idle"


def log_of(database: Path) -> Path:
    """The log beside a database."""
    database = database.absolute()
    return database.with_name(database.name + ".log")


def problems_of(worker: Worker, log: Path) -> list[str]:
    """What no run could be blamed for, each in a line; the tracebacks go into the log."""
    if not worker.problems:
        return []
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        for problem in worker.problems:
            file.write("".join(traceback.format_exception(problem)))
    return [f"{type(problem).__name__}: {problem}"[:LONGEST] for problem in worker.problems[-SHOWN:]]
