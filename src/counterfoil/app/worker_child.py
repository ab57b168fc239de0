"""What a worker process does that another worker started: `python -m counterfoil.app.worker_child ORDERS`.

Its standard input is a pipe that its parent holds open, and its standard output takes one line of JSON at the end.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any

from counterfoil.app.application import App, load_app
from counterfoil.app.driving import drive_for_parent, freeze_memory, log_of, problems_of
from counterfoil.app.duties.beside import duties_beside
from counterfoil.app.located import located
from counterfoil.app.logs import set_up
from counterfoil.app.relaying import pass_on
from counterfoil.app.worker_process import WorkerProcesses
from counterfoil.engine import descriptors
from counterfoil.engine.ending import leave, run_to_end
from counterfoil.model.errors import CounterfoilError
from counterfoil.settings import value_of

DEFECT = 70


def main(arguments: list[str]) -> int:
    """Drive what the orders say: {app, db, only, until_idle, pieces}. Gives the exit status."""
    # The user's code gets an empty input, and its output goes to stderr: neither may touch what is between us and our parent.
    parent, answers = os.dup(0), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    os.dup2(nothing, 0)
    os.dup2(2 if sys.__stderr__ is not None else nothing, 1)
    orders = json.loads(arguments[0])
    try:
        set_up(value_of("COUNTERFOIL_LOG"), sys.stderr)
        app = load_app(orders["app"])
        app.db = orders["db"] or app.db
        answer = run_to_end(_work(app, orders, parent))
        app.close()
    except CounterfoilError as problem:
        sys.stderr.write(f"error: a worker process ends: {problem.message} ({problem.code})\n")
        return problem.exit_status
    os.write(answers, json.dumps(answer).encode() + b"\n")
    return DEFECT if answer["problems"] else 0


async def _work(app: App, orders: dict[str, Any], parent: int) -> dict[str, Any]:
    only: str | None = orders["only"]
    pieces: int | None = orders["pieces"]
    if pieces is not None:
        os.set_inheritable(pieces, False)
        pass_on(app.open().partials, descriptors.only_here(pieces))
    if only is not None:
        worker = app.new_worker(only=frozenset({only}))
        drives = f"run {only} alone"
    else:
        queues = None if orders["queues"] is None else frozenset[str](orders["queues"])
        worker = app.new_worker(
            isolate=WorkerProcesses(orders["app"], orders["db"], Path.cwd()).isolate, queues=queues
        )  # fmt: skip
        drives = f"the runs of {located(app.db).shown}"

    def listening() -> None:
        sys.stderr.write(f"worker {worker.worker_id} drives {drives}\n")

    freeze_memory()
    until_idle = orders["until_idle"] or only is not None
    async with duties_beside(app, wanted=not until_idle):
        ended_by = await drive_for_parent(worker, listening, parent, until_idle=until_idle)
    problems = problems_of(worker, log_of(app.open().location))
    return {"worker_id": worker.worker_id, "ended_by": ended_by, "problems": problems}


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
