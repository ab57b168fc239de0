"""Fault: the power goes at the flush of a commit.

A file's: what was not flushed is lost, or torn sector by sector, and whoever wrote it is gone. A server's: the server is gone in the
middle of a COMMIT, with the request or with the answer to it; whoever asked for it lives, and must find out.
"""

import asyncio
import socket
from collections.abc import Iterator, Sequence
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.faults.living import Looks, lived
from counterfoil.drills.faults.saying import said
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import Say, placed
from counterfoil.drills.stage import Stage
from counterfoil.engine.boundaries import COMMIT
from counterfoil.engine.clock import seeded
from counterfoil.store.port import StorageError
from counterfoil.testing.powercut import PowerCut, Survive

LOST = ("request", "answer")
SURVIVE: tuple[Survive, ...] = ("none", "prefix", "random")


def cases(learned: Learned) -> Iterator[Planned]:
    """At the flush of every commit."""
    return (learned.planned(passed, "power-cut") for passed in learned.passed if passed.kind == COMMIT)


def play(stage: Stage, planned: Planned) -> Applied:
    """The machine goes dark at the flush; what the disk kept is what the next life finds."""
    chance = seeded(f"{stage.seed} {planned.case_id}")
    if stage.ledger.backend == "postgres":
        return _server_gone(stage, planned, lost=chance.choice(LOST))
    survive, seed = chance.choice(SURVIVE), chance.getrandbits(31)
    child = stage.start(f"{__name__}:dark", at=planned.boundary, survive=survive, seed=seed)
    child.wait()
    told = said(child)
    if child.exit_signal != 9 or "cut_at_flush" not in told:
        raise NotApplied(f"The power did not go at {planned.boundary} (status {child.status}). {child.wrote()[-2000:]}")
    kept = stage.ledger.head()
    proof: dict[str, Any] = {
        "wait_status": child.status, "pid": child.pid, "cut_at_flush": told["cut_at_flush"], "survive": survive, "seed": seed,
        "acknowledged_batches": told["acknowledged"], "kept": {**stage.ledger.content(), "head": kept},
    }  # fmt: skip
    lost = told["acknowledged"] - kept.get("batches", 0)
    wrong = (f"{lost} commits had been answered for, and are lost.",) if lost > 0 else ()
    applied = Applied(at=stage.now(), proof=proof, wrong=wrong)
    stage.lives()
    return applied


def dark(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A life on a disk whose power goes at the flush of one commit. Says {cut_at_flush, acknowledged} just before.

    `acknowledged`: so many commits were answered for by then.
    """
    power = PowerCut(survive=arguments["survive"], seed=arguments["seed"], kill=True, default=True)
    placed(app, arguments, say)
    name, _, hit = arguments["at"].partition("#")
    left, commits = int(hit), app.boundaries.hits[COMMIT]
    begun = app.open().installation().batches

    def met(when: str, names: Sequence[str]) -> None:
        nonlocal left
        if when == "before" and name in names:
            left -= 1
            if left == 0:
                power.cut_at = power.flushes + 1
                say({"cut_at_flush": power.cut_at, "acknowledged": begun + app.boundaries.hits[COMMIT] - commits})

    app.boundaries.observers.append(met)
    asyncio.run(lived(app, arguments, say, Looks()))
    app.close()


# ---------------------------------------------------------------------- a server's


def _server_gone(stage: Stage, planned: Planned, *, lost: str) -> Applied:
    told = said(stage.lives(f"{__name__}:without_answer", at=planned.boundary, lost=lost))
    if "lost" not in told:
        raise NotApplied(f"The connection was not lost at {planned.boundary}: {told}")
    if told["ended_by"] is not None:
        stage.lives()  # a worker that could not even register ends, and is started anew
    kept = stage.ledger.head()
    proof = {**told, "kept": {**stage.ledger.content(), "head": kept}}
    missing = told["acknowledged"] - kept.get("batches", 0)
    wrong = (f"{missing} commits had been answered for, and are lost.",) if missing > 0 else ()
    return Applied(at=stage.now(), proof=proof, wrong=wrong)


def without_answer(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A life whose connection is cut at one commit, on the way there or on the way back.

    Says {lost, server_process}, and at the end {acknowledged, troubles, ended_by}: what it was told, and of what it ended.
    """
    from counterfoil.testing.case_schema import cut_off

    placed(app, arguments, say)
    name, _, hit = arguments["at"].partition("#")
    left = int(hit)
    opened, troubles = app.open(), list[str]()
    begun, commits = opened.installation().batches, app.boundaries.hits[COMMIT]
    way = socket.SHUT_RDWR if arguments["lost"] == "request" else socket.SHUT_RD

    def met(when: str, names: Sequence[str]) -> None:
        nonlocal left
        if when == "before" and name in names:
            left -= 1
            if left == 0:
                say({"lost": arguments["lost"], "server_process": cut_off(opened.database, way)})

    def trouble(problem: BaseException) -> None:
        if not isinstance(problem, StorageError):
            raise problem
        troubles.append(problem.code)

    app.boundaries.observers.append(met)
    ended_by = None
    try:
        asyncio.run(lived(app, arguments, say, Looks(trouble=trouble)))
    except StorageError as problem:
        ended_by = problem.code
    answered = begun + app.boundaries.hits[COMMIT] - commits
    say({"acknowledged": answered, "troubles": troubles, "ended_by": ended_by})
    app.close()
