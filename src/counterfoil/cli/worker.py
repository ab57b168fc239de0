"""`counterfoil worker`."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group
from counterfoil.cli.engines import ENGINES, engine_named, temporal
from counterfoil.cli.invocation import Invocation
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.app.worker_process import WorkerProcesses

DEFECT = 70
SHAPE = "{worker_id, ended_by: signal|idle, problems:[], processes:[{worker_id, ended_by}]}"


def nothing(console: "Console", data: Any) -> None:
    """A worker says nothing on stdout: what happened stands in the runs."""
    del console, data


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("worker", data=SHAPE, shows=nothing, also=(DEFECT,))
    def worker(
        invocation: Invocation,
        until_idle: Annotated[
            bool,
            typer.Option(
                "--until-idle", help="End when no run is due, or held by what ends by itself. For scripts and tests."
            ),
        ] = False,
        processes: Annotated[
            int, typer.Option("--processes", min=1, max=256, help="So many worker processes, to use so many cores.")
        ] = 1,
        queue: Annotated[
            list[str] | None,
            typer.Option(
                "--queue", metavar="NAME", help="Take up only workflows of this queue. May be given several times."
            ),
        ] = None,
        engine: Annotated[str | None, typer.Option("--engine", help=ENGINES)] = None,
    ) -> Any:
        """Drive runs until SIGTERM or Ctrl-C: then claim nothing more, finish or hand over, and end. A second one ends at once.

        A run during which its worker died twice is driven in a process of its own.
        """
        app = invocation.with_code()
        queues = frozenset(queue) if queue else None
        if engine_named(engine) == "temporal":
            if until_idle or processes != 1 or queue:
                raise Refused(
                    "usage",
                    problem="a worker of Temporal is one process that runs until it is told to end, on its own queue",
                )
            return awaited(_serve(invocation, app))
        if processes == 1:
            return awaited(_drive(invocation, app, until_idle, queues))
        return awaited(_supervise(invocation, app, processes, until_idle, queues))


async def _drive(invocation: Invocation, app: "App", until_idle: bool, queues: frozenset[str] | None) -> Answer:
    from counterfoil.app.driving import drive_until_told, freeze_memory, problems_of
    from counterfoil.app.duties.beside import duties_beside
    from counterfoil.app.logs import what_goes_wrong

    worker = app.new_worker(isolate=_processes(invocation, app).isolate, queues=queues)

    def listening() -> None:
        # The line that a script waits for before it relies on being heard.
        _say(invocation, f"worker {worker.worker_id} drives the runs of {invocation.located().shown}")

    if not until_idle:
        freeze_memory()
    with what_goes_wrong(invocation.streams.err):
        async with duties_beside(app, wanted=not until_idle):
            ended_by = await drive_until_told(worker, listening, until_idle=until_idle)
    ended = {"worker_id": worker.worker_id, "ended_by": ended_by}
    return _answer(invocation, worker.worker_id, ended_by, problems_of(worker, _log(invocation)), [ended])


async def _serve(invocation: Invocation, app: "App") -> Answer:
    """A worker of Temporal: it executes workflows there, and asks the ledger here."""
    from counterfoil.app.logs import what_goes_wrong

    serving = temporal("serving")
    shown = invocation.located().shown

    def listening(queue: str) -> None:
        _say(invocation, f"polls the queue {queue} of Temporal, with the ledger {shown}")

    with what_goes_wrong(invocation.streams.err):
        await serving.serve_until_told(app, listening)
    return _answer(invocation, None, "signal", [], [])


async def _supervise(
    invocation: Invocation, app: "App", count: int, until_idle: bool, queues: frozenset[str] | None
) -> Answer:
    """This process drives nothing: what fells a worker must not fell the one that starts another."""
    import asyncio
    import signal
    from functools import partial

    from counterfoil.app.supervisor import Supervisor

    app.new_worker(queues=queues)  # what every one of them would be refused for is refused here, once
    app.close()
    supervisor = Supervisor(
        partial(_processes(invocation, app).start, until_idle=until_idle, queues=queues), count, app.clock
    )
    told: list[int] = []

    def stop(number: int) -> None:
        told.append(number)
        supervisor.stop()

    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop, number)
    _say(invocation, f"{count} worker processes drive the runs of {invocation.located().shown}")
    await supervisor.run()
    problems = [problem for answer in supervisor.answers for problem in answer["problems"]]
    ended = [{"worker_id": answer["worker_id"], "ended_by": answer["ended_by"]} for answer in supervisor.answers]
    return _answer(invocation, None, "signal" if told else "idle", problems, ended)


def _processes(invocation: Invocation, app: "App") -> "WorkerProcesses":
    from pathlib import Path

    from counterfoil.app.worker_process import WorkerProcesses

    return WorkerProcesses(invocation.named() or "", app.db, Path.cwd())


def _say(invocation: Invocation, line: str) -> None:
    invocation.streams.notes().print(line, soft_wrap=True)


def _log(invocation: Invocation) -> Any:
    from counterfoil.app.driving import log_of

    return log_of(invocation.located().beside)


def _answer(
    invocation: Invocation, worker_id: str | None, ended_by: str, problems: list[str], ended: list[dict[str, str]]
) -> Answer:
    if problems:
        invocation.warn("defect", f"{len(problems)} problems of ours are in {_log(invocation)}")
    data = {"worker_id": worker_id, "ended_by": ended_by, "problems": problems, "processes": ended}
    return Answer(data, DEFECT if problems else 0)
