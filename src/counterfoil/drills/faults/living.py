"""A life that is looked at while it goes on: for faults that must see a worker's trouble, or wait for what ends by itself."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.life import Say, at_rest, people, placed, submitted
from counterfoil.engine.leases import HEARTBEAT_US
from counterfoil.engine.worker import Worker
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord
from counterfoil.store.port import StorageError
from counterfoil.testing.bench_child import run_of, skip_time, working
from counterfoil.testing.clock import SharedClock

BEAT = timedelta(microseconds=HEARTBEAT_US)
OVER_BY_ITSELF = frozenset({"code_changed", "clock_jump"})


@dataclass(frozen=True, slots=True)
class Looks:
    """What a fault looks at: `each` at every look, `trouble` where a worker let go of a run, or a submission failed in its
    storage, `rest` when the run is at rest (True ends the life). Without `trouble` that is the end of the child.
    """

    each: Callable[[], None] = lambda: None
    trouble: Callable[[BaseException], None] | None = None
    rest: Callable[[RunRecord], bool] = lambda _: True


def goes_on(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `life.live`, of a run whose stop ends by itself: at rest only once a worker has come and looked twice.

    Says {run_id, admitted} and {at_rest: {run_id, state, reason, sentence}}.
    """
    placed(app, arguments, say)
    asyncio.run(lived(app, arguments, say, Looks()))
    app.close()


async def lived(app: App, arguments: dict[str, Any], say: Say, looks: Looks) -> None:
    """Submit, answer what is asked, work, until the run is at rest and `looks.rest` says so."""
    run_id = await _submitted(app, arguments, say, looks)
    beats, troubled = app.boundaries.passed["worker.seen"], False
    async with working(app) as here:
        worker = here.worker
        while True:
            here.look()
            looks.each()
            troubled = _told(worker, looks) or troubled
            run = run_of(app, run_id)  # one look for both, as in life.py
            acted = await people(app, run, arguments["signals"])
            looked_twice = app.boundaries.passed["worker.seen"] - beats > 2  # it registered, and beat twice
            if not acted and at_rest(app, run):
                if run.reason in OVER_BY_ITSELF and not looked_twice:
                    _advance(app, worker)
                elif looks.rest(run):
                    say({"at_rest": told(run)})
                    return
            else:
                skip_time(app, worker, run_id)
                if troubled:  # a worker looks again at what it let go of when it beats
                    _advance(app, worker)
            await here.wait()


def told(run: RunRecord) -> dict[str, Any]:
    """A run at rest, as facts: the sentence says what it was parked with."""
    return {"run_id": run.run_id, "state": run.state.value, "reason": run.reason, "sentence": run.sentence}


async def _submitted(app: App, arguments: dict[str, Any], say: Say, looks: Looks) -> str:
    """Under its request id, so often as the storage fails: whoever is told of a failure asks again."""
    while True:
        try:
            said = await submitted(app, arguments)
        except Refused as refused:
            if looks.trouble is None or not isinstance(refused, StorageError):
                raise
            looks.trouble(refused)
            continue
        say(said)
        return str(said["run_id"])


def _told(worker: Worker, looks: Looks) -> bool:
    """Whether the worker let go of a run."""
    problems = [*worker.problems, *worker.outages]
    worker.problems.clear()
    worker.outages.clear()
    for problem in problems:
        if looks.trouble is None:
            raise problem
        looks.trouble(problem)
    return bool(problems)


def _advance(app: App, worker: Worker) -> None:
    """The next beat of the worker, at once."""
    if isinstance(app.clock, SharedClock) and not worker.driving:
        app.clock.advance(BEAT)
