"""Fault: the power goes at the flush of a commit. What was not flushed is lost, or torn sector by sector."""

import asyncio
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
from counterfoil.testing.database_files import files_of, head_of
from counterfoil.testing.powercut import PowerCut, Survive

SURVIVE: tuple[Survive, ...] = ("none", "prefix", "random")


def cases(learned: Learned) -> Iterator[Planned]:
    """At the flush of every commit."""
    return (learned.planned(passed, "power-cut") for passed in learned.passed if passed.kind == COMMIT)


def play(stage: Stage, planned: Planned) -> Applied:
    """The machine goes dark at the flush; what the disk kept is what the next life finds."""
    chance = seeded(f"{stage.seed} {planned.case_id}")
    survive, seed = chance.choice(SURVIVE), chance.getrandbits(31)
    child = stage.start(f"{__name__}:dark", at=planned.boundary, survive=survive, seed=seed)
    child.wait()
    told = said(child)
    if child.exit_signal != 9 or "cut_at_flush" not in told:
        raise NotApplied(f"The power did not go at {planned.boundary} (status {child.status}). {child.wrote()[-2000:]}")
    kept = head_of(stage.db)
    proof: dict[str, Any] = {
        "wait_status": child.status, "pid": child.pid, "cut_at_flush": told["cut_at_flush"], "survive": survive, "seed": seed,
        "acknowledged_batches": told["acknowledged"], "kept": {**files_of(stage.db), "head": kept},
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
