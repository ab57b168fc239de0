"""`counterfoil worker`."""

import signal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.engine.worker import Worker

DEFECT = 70


def nothing(console: "Console", data: Any) -> None:
    """A worker says nothing on stdout: what happened stands in the runs."""
    del console, data


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("worker", data="{worker_id, ended_by: signal|idle, problems:[]}", shows=nothing, also=(DEFECT,))
    def worker(
        invocation: Invocation,
        until_idle: Annotated[
            bool, typer.Option("--until-idle", help="End when no run is due or held. For scripts and tests.")
        ] = False,
    ) -> Any:
        """Drive runs until SIGTERM or Ctrl-C: then claim nothing more, finish or hand over, and end. A second one ends at once."""
        return awaited(_drive(invocation, invocation.with_code(), until_idle))


async def _drive(invocation: Invocation, app: "App", until_idle: bool) -> Answer:
    import asyncio

    worker = app.new_worker()
    stopped: list[str] = []
    loop = asyncio.get_running_loop()

    def stop(number: signal.Signals) -> None:
        stopped.append(number.name)
        worker.stop()
        for each in (signal.SIGTERM, signal.SIGINT):
            loop.remove_signal_handler(each)  # the second one is not asked to wait

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop, number)
    # The line that a script waits for before it relies on being heard.
    invocation.streams.notes().print(
        f"worker {worker.worker_id} drives the runs of {invocation.database()}", soft_wrap=True
    )
    await worker.run(until_idle=until_idle)
    problems = _problems(invocation, worker)
    data = {"worker_id": worker.worker_id, "ended_by": "signal" if stopped else "idle", "problems": problems}
    return Answer(data, DEFECT if problems else 0)


def _problems(invocation: Invocation, worker: "Worker") -> list[str]:
    """What no run could be blamed for, logged beside the database."""
    if not worker.problems:
        return []
    import traceback

    database = invocation.database().absolute()
    log = database.with_name(database.name + ".log")
    with log.open("a", encoding="utf-8", errors="backslashreplace") as file:
        for problem in worker.problems:
            file.write("".join(traceback.format_exception(problem)))
    invocation.warn("defect", f"{len(worker.problems)} problems of ours are in {log}")
    return [f"{type(problem).__name__}: {problem}" for problem in worker.problems]
