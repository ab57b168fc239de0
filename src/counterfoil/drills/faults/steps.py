"""A step that never works: its budget ends it, the run stands with its owner, and nothing goes on by itself."""

from collections.abc import Callable, Iterator
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.life import live
from counterfoil.drills.stage import Stage
from counterfoil.engine import call_step
from counterfoil.engine.definitions import Step
from counterfoil.engine.execution import Execution
from counterfoil.model.run import BUDGET_REASONS

BROKEN = "counterfoil.drills.faults.steps:broken"
STANDS = BUDGET_REASONS | {"step_failed"}


def cases(learned: Learned) -> Iterator[Planned]:
    """One for each step of the workflow, where it first ended."""
    found = {passed.about: passed for passed in reversed(list(learned.at("step.ended"))) if passed.about is not None}
    return (learned.planned(found[name], "step-always-fails") for name in learned.steps if name in found)


def always_fails(stage: Stage, planned: Planned) -> Applied:
    """Two lives in which the step never works. The first spends what it may; the second must try nothing by itself."""
    first, again = _tries(stage, planned), _tries(stage, planned)
    if not first["tries"]:
        raise NotApplied(f"The step {planned.step} was never tried.")
    wrong = (f"Parked, {planned.step} was tried {again['tries']} times more by itself.",) if again["tries"] else ()
    return Applied(at=stage.now(), proof={**first, "tried_again": again["tries"]}, wrong=wrong, ends=STANDS)


def _tries(stage: Stage, planned: Planned) -> dict[str, Any]:
    child = stage.lives(BROKEN, step=planned.step)
    told = next(said for said in child.said if "tries" in said)
    return {**told, "pid": child.pid}


def broken(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """As `life.live`, while every try of one `step` raises before its function is reached. Says {step, tries, raised}."""
    working, tries = call_step.one_try, 0

    async def never() -> Any:
        nonlocal tries
        tries += 1
        raise OSError("this step never works (drill)")

    async def one_try(
        execution: Execution,
        position: str,
        spec: Step,
        digest: str | None,
        once: Callable[[], Any],
        timed: tuple[str, ...],
    ) -> None:
        await working(execution, position, spec, digest, never if spec.name == arguments["step"] else once, timed)

    call_step.one_try = one_try
    live(app, arguments, say)
    say({"step": arguments["step"], "tries": tries, "raised": "OSError"})
