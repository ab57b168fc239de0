"""What children of a drill do: a whole life of the user's workflow, or one part of it, with the people who act in it.

Each function is called in a child with (app, arguments, say); `Stage.start` gives the arguments.
"""

import asyncio
import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from counterfoil.app.application import App
from counterfoil.app.opening import Founding
from counterfoil.app.registration import named_in
from counterfoil.app.secrets import hashed
from counterfoil.app.submitted import waits_for_person
from counterfoil.engine.administration import NewPerson
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.bench_child import arm, place, run_of, skip_time, working

SECRET = "drill"
REVIEWERS = ("ana", "oscar", "ines")
HASH = hashed(SECRET, "d1")  # slow on purpose, so it is made once, before the children are forked
AT_BOUNDARIES = frozenset({"crash_at", "freeze_at", "passed", "watch"})

Say = Callable[[object], None]


# ---------------------------------------------------------------------- the place


def placed(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Open the case's database, made if there is none. Only then what is to happen at boundaries is armed."""
    place(app, {name: value for name, value in arguments.items() if name not in AT_BOUNDARIES}, say)
    for name in arguments["receivers"]:  # what stands in for a live receiver is none
        app.registry.receivers[name] = replace(app.registry.receivers[name], environment="test")
    if arguments.get("without"):
        importlib.import_module("counterfoil.testing.guards").remove(arguments["without"])
    app.open(founding(app))
    arm(app, arguments, say)


def founding(app: App) -> Founding:
    """Reviewers who hold every role that the application names."""
    roles = tuple(named_in(app.registry))
    return Founding(people=tuple(NewPerson(name, roles, HASH) for name in REVIEWERS))


# ---------------------------------------------------------------------- lives


def live(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Submit, answer what is asked, and work until the run is at rest. Says {run_id, admitted} and {at_rest: {...}}."""
    placed(app, arguments, say)
    asyncio.run(_lived(app, arguments, say, answers=True))
    app.close()


def work(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, but nobody answers a review or sends a signal: a worker alone."""
    placed(app, arguments, say)
    asyncio.run(_lived(app, arguments, say, answers=False))
    app.close()


def submit(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Submit, and nothing else. Says {run_id, admitted}, or {refused: code}."""
    placed(app, arguments, say)
    try:
        said: object = asyncio.run(submitted(app, arguments))
    except Refused as refused:
        said = {"refused": refused.code}
    say(said)
    app.close()


async def submitted(app: App, arguments: dict[str, Any]) -> dict[str, Any]:
    """The scenario's input under its request id: {run_id, admitted}. Raises Refused as `app.runs.submit`."""
    answer = await app.runs.submit(arguments["workflow"], arguments["input"], request_id=arguments["request_id"])
    return {"run_id": answer["run_id"], "admitted": answer["admitted"]}


async def _lived(app: App, arguments: dict[str, Any], say: Say, *, answers: bool) -> None:
    said = await submitted(app, arguments)
    say(said)
    run_id = str(said["run_id"])
    async with working(app) as here:
        while True:
            here.look()
            if here.worker.problems:
                raise here.worker.problems[0]
            # One look for both: a run that begins to wait after it is not at rest, but not asked about yet.
            run = run_of(app, run_id)
            acted = answers and await people(app, run, arguments["signals"])
            if not acted and at_rest(app, run):
                say({"at_rest": {"run_id": run_id, "state": run.state.value, "reason": run.reason}})
                return
            skip_time(app, here.worker, run_id)
            await here.wait()


# ---------------------------------------------------------------------- people


async def people(app: App, run: RunRecord, signals: dict[str, Any]) -> bool:
    """What people do about a waiting run, each time they look. Doubts are left as they are. True if somebody acted."""
    if run.state is not RunState.WAITING:
        return False
    if run.reason == "signal":
        return await _signalled(app, run, signals)
    return await answered(app) > 0


async def answered(app: App) -> int:
    """Every open review is approved, by as many reviewers as it needs: how many answers were given."""
    given = 0
    for review in app.reviews.list(state="open")["items"]:
        for person in REVIEWERS:
            state = await _approved(app, review, person)
            given += state is not None
            if state not in (None, "open"):
                break
    return given


async def _approved(app: App, review: dict[str, Any], person: str) -> str | None:
    """The review's state after the answer; None where this person may not answer, or somebody was faster."""
    try:
        answer = await app.reviews.approve(review["review_id"], digest=review["digest"], by=person, secret=SECRET)
    except Refused:
        return None
    return str(answer["state"])


async def _signalled(app: App, run: RunRecord, signals: dict[str, Any]) -> bool:
    for name, payload in signals.items():
        await app.signals.send(run.run_id, name, payload, signal_id=f"drill-{name}")
    return bool(signals)


# ---------------------------------------------------------------------- looking


def at_rest(app: App, run: RunRecord) -> bool:
    """Ended, parked, or waiting for somebody who has not answered."""
    with app.open().read() as reader:
        return run.state.ended or waits_for_person(reader, run, app.clock.now_us())
