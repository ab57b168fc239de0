"""Carrying out duties: look what is due, take it under a lease, do it, say how it ended."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil.app.duties.duty import MINUTE_US, SECOND_US, Duty
from counterfoil.engine.duties import DutyDone, TakeDuty
from counterfoil.engine.failures import said
from counterfoil.engine.problem_log import log
from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App

LONGEST_REST_US = 5 * SECOND_US  # another process may lose a duty at any time
AGAIN_AFTER_PROBLEM_US = MINUTE_US


class Rounds:
    """One process's share in the duties. Several processes may have one each: the lease says who does what."""

    def __init__(self, app: "App", duties: Sequence[Duty]) -> None:
        self._app = app
        self._duties = duties
        self.holder = f"dty_{app.open().chance.hex(80)}"

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`. What goes wrong in a duty is kept with it, and it is tried again; nothing is raised."""
        clock = self._app.open().clock
        while not stop.is_set():
            try:
                await self.once()
            except Exception as problem:  # the database is locked, full or gone: seen in the log, and tried again
                log.error("the duties could not be looked at: %s", said(problem))
            await clock.wait(stop, clock.now_us() + LONGEST_REST_US)

    async def once(self) -> list[str]:
        """Do all that is due now. Gives the names of what was done."""
        done: list[str] = []
        for duty in self._duties:
            if self._due(duty) and await self._carried_out(duty):
                done.append(duty.name)
        return done

    def _due(self, duty: Duty) -> bool:
        """Looked at before anything is written: most rounds find nothing to do."""
        opened = self._app.open()
        now = opened.clock.now_us()
        with opened.read() as reader:
            known = reader.get(DutyRecord, duty.name)
        return known is None or (known.next_at <= now and (known.lease_until or 0) <= now)

    async def _carried_out(self, duty: Duty) -> bool:
        opened = self._app.open()
        taken: DutyRecord | None = await opened.write(TakeDuty(duty.name, self.holder, duty.lease_us))
        if taken is None:
            return False
        problem, mark = None, None
        try:
            async with asyncio.timeout(duty.lease_us / SECOND_US):
                mark = await duty.carry_out(self._app, taken)
        except Exception as failed:
            problem = said(failed)[:500]
            log.error("duty %s: %s", duty.name, problem)
        again = duty.every_us if problem is None else min(duty.every_us, AGAIN_AFTER_PROBLEM_US)
        await opened.write(DutyDone(duty.name, self.holder, problem, again, mark))
        return True
