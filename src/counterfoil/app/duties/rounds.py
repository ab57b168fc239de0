"""Carrying out duties: look what is due, take it under a lease, do it, say how it ended."""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil.app.duties.duty import MINUTE_US, SECOND_US, Duty
from counterfoil.engine.duties import DutyDone, TakeDuty, is_due
from counterfoil.engine.failures import said
from counterfoil.engine.locks import ProcessLock, lock_is_free
from counterfoil.engine.problem_log import log
from counterfoil.model.duty import DutyRecord

if TYPE_CHECKING:
    from counterfoil.app.application import App

LONGEST_REST_US = 5 * SECOND_US  # another process may lose a duty at any time
AGAIN_AFTER_PROBLEM_US = MINUTE_US


class Rounds:
    """One process's share in the duties. Several processes may have one each: the lease says who does what.

    Each duty has a loop of its own, so that one that hangs, as on a receiver that never answers, holds up no other.
    """

    def __init__(self, app: "App", duties: Sequence[Duty]) -> None:
        self._app = app
        self._duties = duties
        self.holder = f"dty_{app.open().chance.hex(80)}"

    async def run(self, stop: asyncio.Event) -> None:
        """Until `stop`. What goes wrong in a duty is kept with it, and it is tried again; nothing is raised."""
        # A lock that is free proves that its holder is dead: a duty does not wait for the lease of a process that was killed.
        with ProcessLock(self._app.open().locks, self.holder):
            await asyncio.gather(*(self._keep(duty, stop) for duty in self._duties))

    async def once(self) -> list[str]:
        """Do all that is due now, one after the other. Gives the names of what was done."""
        return [duty.name for duty in self._duties if await self._looked_after(duty)]

    async def _keep(self, duty: Duty, stop: asyncio.Event) -> None:
        clock = self._app.open().clock
        while not stop.is_set():
            try:
                await self._looked_after(duty)
            except Exception as problem:  # the database is locked, full or gone: seen in the log, and tried again
                log.error("duty %s could not be looked at: %s", duty.name, said(problem))
            await clock.wait(stop, clock.now_us() + LONGEST_REST_US)

    async def _looked_after(self, duty: Duty) -> bool:
        """Looked at before anything is written: most looks find nothing to do."""
        opened = self._app.open()
        with opened.read() as reader:
            known = reader.get(DutyRecord, duty.name)
        holder = known.holder if known is not None else None
        gone = holder if holder is not None and lock_is_free(opened.locks, holder) else None
        now = opened.clock.now_us()
        due = is_due(known, now, every_us=duty.every_us, lease_us=duty.lease_us, gone=gone)
        return due and await self._carried_out(duty, gone)

    async def _carried_out(self, duty: Duty, gone: str | None) -> bool:
        opened = self._app.open()
        take = TakeDuty(duty.name, self.holder, opened.clock.now_us(), duty.every_us, duty.lease_us, gone)
        taken: DutyRecord | None = await opened.write(take)
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
        await opened.write(DutyDone(duty.name, self.holder, opened.clock.now_us(), problem, again, mark))
        return True
