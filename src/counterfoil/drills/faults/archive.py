"""Fault: a finished run is archived, then the same action is asked for again. Archiving comes with another issue."""

from collections.abc import Iterator

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.stage import Stage

NOT_BUILT = "8"


def cases(learned: Learned) -> Iterator[Planned]:
    """Once the run has ended."""
    return (learned.planned(passed, "archived-then-again") for passed in learned.at("run.finished"))


def play(stage: Stage, planned: Planned) -> Applied:
    """There is nothing to archive with yet; a test fails once there is."""
    del stage
    raise NotApplied(f"{planned.case_id}: archiving comes with issue {NOT_BUILT}.")
