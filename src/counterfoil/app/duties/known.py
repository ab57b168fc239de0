"""All duties, in the order of a round, and the noun `duties` that shows them."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.duties.deliveries import match_due
from counterfoil.app.duties.doubts import ask_again
from counterfoil.app.duties.duty import HOUR_US, MINUTE_US, SECOND_US, Duty
from counterfoil.app.duties.expiry import expire
from counterfoil.app.duties.retention import sweep
from counterfoil.app.duties.samples import sample
from counterfoil.app.duties.sweeps import sweep_receivers
from counterfoil.app.duties.witness import witness
from counterfoil.app.notices.telling import tell
from counterfoil.app.views.listing import listed
from counterfoil.engine.opened import Opened
from counterfoil.model.duty import DutyRecord
from counterfoil.model.moments import rfc3339

DUTIES: tuple[Duty, ...] = (
    Duty("expiry", "moves runs whose deadline has passed", 15 * SECOND_US, MINUTE_US, expire),
    Duty("reconcile", "asks receivers again about what is unknown", MINUTE_US, 10 * MINUTE_US, ask_again),
    Duty("witness", "writes the heads of chains that grew to the outside place", 5 * MINUTE_US, 5 * MINUTE_US, witness),
    Duty("deliveries", "matches what receivers sent by themselves", 15 * SECOND_US, 5 * MINUTE_US, match_due),
    Duty(
        "sweep",
        "counts records at receivers after their operations were closed",
        MINUTE_US,
        30 * MINUTE_US,
        sweep_receivers,
    ),
    Duty("notices", "tells people and other systems what needs somebody", 15 * SECOND_US, 5 * MINUTE_US, tell),
    Duty(
        "metrics", "stores what was counted, and a value of each metric every minute", MINUTE_US, 5 * MINUTE_US, sample
    ),
    Duty("retention", "deletes rows that are no evidence and of no use any more", HOUR_US, 10 * MINUTE_US, sweep),
)
LATE = 3  # after so many of its intervals without success a duty is late


class Duties:
    """`app.duties`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self) -> dict[str, Any]:
        """`{items: [{name, about, every_seconds, holder, lease_until, started_at, succeeded_at, next_at, problem, late}], next_cursor}`."""
        opened = self._opened()
        now = opened.clock.now_us()
        with opened.read() as reader:
            installation = reader.installation
            began = installation.created_at if installation else now
            known = {duty.name: reader.get(DutyRecord, duty.name) for duty in DUTIES}
        return listed([duty_view(duty, known[duty.name], now, began) for duty in DUTIES], None)


def duty_view(duty: Duty, record: DutyRecord | None, now: int, began: int) -> dict[str, Any]:
    """One duty as people see it. `late`: nobody has carried it out for three of its intervals, and a minute."""
    succeeded = record.succeeded_at if record else None
    held = record is not None and (record.lease_until or 0) > now
    return {
        "name": duty.name,
        "about": duty.about,
        "every_seconds": duty.every_us // SECOND_US,
        "holder": record.holder if record and held else None,
        "lease_until": rfc3339(record.lease_until) if record and held else None,
        "started_at": rfc3339(record.started_at) if record else None,
        "succeeded_at": rfc3339(succeeded),
        "next_at": rfc3339(record.next_at) if record else None,
        "problem": record.problem if record else None,
        "late": now - (succeeded or began) > LATE * duty.every_us + MINUTE_US,
    }
