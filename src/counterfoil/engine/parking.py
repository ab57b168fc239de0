"""A parked run: stopped with a reason, an owner, a deadline and an instruction."""

from dataclasses import replace
from typing import Any

from counterfoil.model.codec import compact
from counterfoil.model.run import ParkReason, RunRecord, RunState


def parked(
    run: RunRecord,
    reason: ParkReason,
    sentence: str,
    owner: dict[str, Any],
    now: int,
    heading: str | None,
    failure: dict[str, Any] | None,
) -> RunRecord:
    """A parked run: its owner's time runs from now. `due_at` is when it goes to the next owner."""
    return replace(
        run,
        state=RunState.PARKED,
        waiting_since=run.waiting_since if run.waiting_since is not None else now,
        reason=reason.value,
        sentence=sentence,
        owner=owner["name"],
        owner_then=owner["then"],
        deadline_at=now + owner["within_us"],
        due_at=now + owner["within_us"],
        heading=heading or run.heading,
        executing=0,
        worker_id=None,
        lease_until=None,
        held_for=None,
        fence=run.fence + (1 if run.state is RunState.RUNNING else 0),
        failure=compact(failure) if failure is not None else run.failure,
    )
