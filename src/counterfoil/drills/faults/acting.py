"""What children do for the faults of delivery and of people: submit again, meet at the same instant, answer, revoke, ask."""

import asyncio
from collections.abc import Awaitable
from pathlib import Path
from signal import SIGSTOP, pthread_kill
from threading import get_ident
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.faults.living import Looks, lived
from counterfoil.drills.life import SECRET, Say, live, placed
from counterfoil.model.errors import Refused
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.clock import SharedClock

MODULE = "counterfoil.drills.faults.acting"
MICROSECONDS = 1_000_000


def live_by_its_clock(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `life.live`, in a process whose event loop tells the time of the case: a time-out of a request runs out with it."""
    clock = SharedClock(Path(arguments["clock"]))

    def time(self: asyncio.BaseEventLoop) -> float:
        return clock.boot_us() / MICROSECONDS

    asyncio.BaseEventLoop.time = time  # in this child alone
    live(app, arguments, say)


def found(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Make the database, and nothing else."""
    placed(app, arguments, say)
    app.close()


def meet(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Stop once the database is open; thawed, submit and live. Whoever thaws several makes them submit at once."""
    placed(app, arguments, say)
    _stop()
    _beside_another(app, arguments, say)


def live_beside_another(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `life.live`, while another process drives a run of its own."""
    placed(app, arguments, say)
    _beside_another(app, arguments, say)


def _beside_another(app: App, arguments: dict[str, Any], say: Say) -> None:
    app.clock = _Patient(Path(arguments["clock"]), app)
    asyncio.run(lived(app, arguments, say, Looks()))
    app.close()


def submit_again(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Submit. Says {run_id, admitted}, or {refused, message, details}."""
    placed(app, arguments, say)
    submitted = app.runs.submit(arguments["workflow"], arguments["input"], request_id=arguments["request_id"])
    say({"submitted": asyncio.run(_told(submitted))})
    app.close()


def answer(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Give `answers`, one after the other: {review_id, by, digest, approve, ask_revision}; with `together`, stop before it.

    Says {answers: [{state, decided} or {refused, message}]}.
    """
    placed(app, arguments, say)
    if arguments.get("together"):
        _stop()
    say({"answers": [asyncio.run(_answered(app, each)) for each in arguments["answers"]]})
    app.close()


def revoke(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Revoke `names`. Says {revoked: {name: when}}."""
    placed(app, arguments, say)
    revoked = {name: asyncio.run(app.people.revoke(name))["revoked_at"] for name in arguments["names"]}
    say({"revoked": revoked})
    app.close()


def look_up(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Ask the receiver about `operation`, as an operator does. Says {looked_up: {status, incidents}} or {looked_up: {refused}}."""
    placed(app, arguments, say)
    found = asyncio.run(_told(app.operations.lookup(arguments["operation"])))
    open_incidents = [each for each in app.incidents.list()["items"] if each["closed_at"] is None]
    say(
        {
            "looked_up": {
                "refused": found.get("refused"),
                "status": found.get("status"),
                "incidents": len(open_incidents),
            }
        }
    )
    app.close()


class _Patient(SharedClock):
    """Time that nobody skips while a run is driven: two who live would take each other's lease for over."""

    def __init__(self, file: Path, app: App) -> None:
        super().__init__(file)
        self._app = app

    def skip_to(self, until_us: int) -> None:
        with self._app.open().read() as reader:
            driven = any(run.state is RunState.RUNNING for run in reader.rows(RunRecord))
        if not driven:
            super().skip_to(until_us)


def _stop() -> None:
    """This very process, and nothing runs on in it: SIGCONT lets it go on."""
    pthread_kill(get_ident(), SIGSTOP)


async def _answered(app: App, given: dict[str, Any]) -> dict[str, Any]:
    if given["approve"]:
        wish = app.reviews.approve(given["review_id"], digest=given["digest"], by=given["by"], secret=SECRET)
    else:
        wish = app.reviews.reject(
            given["review_id"],
            digest=given["digest"],
            by=given["by"],
            secret=SECRET,
            ask_revision=bool(given.get("ask_revision")),
        )
    told = await _told(wish)
    with app.open().read() as reader:
        review = reader.get(ReviewRecord, given["review_id"])
    return {name: told[name] for name in ("decided", "refused", "message") if name in told} | {
        "by": given["by"],
        "wish": "approve" if given["approve"] else "reject",
        "state": None if review is None else review.state.value,
    }


async def _told(wish: Awaitable[dict[str, Any]]) -> dict[str, Any]:
    """What is answered, also where it is a refusal."""
    try:
        return await wish
    except Refused as refused:
        details = {name: str(value) for name, value in refused.details.items()}
        return {"refused": refused.code, "message": refused.message, "details": details}
