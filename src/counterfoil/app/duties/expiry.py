"""Duty: a deadline that passed moves its run, also where no worker lives that could do it."""

from typing import TYPE_CHECKING

from counterfoil.engine.finish import Overdue
from counterfoil.engine.verb import Deadlines
from counterfoil.model.codec import parsed
from counterfoil.model.duty import DutyRecord
from counterfoil.model.run import RunRecord, RunState

if TYPE_CHECKING:
    from counterfoil.app.application import App

AT_ONCE = 500


async def expire(app: "App", duty: DutyRecord) -> None:
    """Park what waited too long, and give what is parked to the next owner."""
    del duty
    opened = app.open()
    now = opened.clock.now_us()
    with opened.read() as reader:
        due = [reader.get(RunRecord, run_id) for run_id in reader.due.any(now, AT_ONCE)]
    for run in due:
        if run is not None and _over(run, now, opened.deadlines):
            await opened.write(Overdue(run.run_id, parsed(run.budget)["owner"]))


def _over(run: RunRecord, now: int, deadlines: Deadlines) -> bool:
    """Its deadline has passed, and whoever could have taken it up did not."""
    if run.deadline_at is None:
        return False
    # A worker that lives takes a waiting run up when its time comes, and its workflow hears that. It gets that chance.
    late = deadlines.pending if run.state is RunState.WAITING else 0
    return run.deadline_at + late <= now
