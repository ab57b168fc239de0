"""Faults that kill: the process that drives the run ends by SIGKILL, and a new one goes on."""

from collections.abc import Iterator

from counterfoil.drills.case import Applied, Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.stage import Stage


def before(learned: Learned) -> Iterator[Planned]:
    """Every boundary that was passed."""
    return (learned.planned(passed, "kill-before") for passed in learned.passed)


def after(learned: Learned) -> Iterator[Planned]:
    """Every boundary that was passed."""
    return (learned.planned(passed, "kill-after") for passed in learned.passed)


def killed_before(stage: Stage, planned: Planned) -> Applied:
    """Killed before the boundary is passed; then a new process."""
    return _killed(stage, f"before:{planned.boundary}")


def killed_after(stage: Stage, planned: Planned) -> Applied:
    """Killed once it is passed; then a new process."""
    return _killed(stage, planned.boundary)


def _killed(stage: Stage, at: str) -> Applied:
    proof = stage.dies(at)
    # A killed process is no reason for a run not to complete, unless its receiver leaves a doubt that nobody can close.
    applied = Applied(at=stage.now(), proof=proof, ends=frozenset())
    stage.lives()
    return applied
