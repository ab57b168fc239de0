"""The noun `drills`: what was rehearsed, what a person waived, and which operations are sent without a review."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, named, proven
from counterfoil.app.inbox_place import until_of
from counterfoil.app.views.gate import drill_view, unattended_view, waiver_view
from counterfoil.app.writes import parked_for
from counterfoil.engine.gate import AddWaiver, RegisterDrill, RevokeWaiver, WakeHeld
from counterfoil.engine.opened import Opened
from counterfoil.model.drill import Covered, DrillRecord, Rehearsal, WaiverRecord
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import ParkReason
from counterfoil.rules.gate import unattended


class Drills:
    """`app.drills`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    async def register(self, rehearsal: Rehearsal, *, by: Actor | str | None = None) -> dict[str, Any]:
        """`{items: [DRILL]}`: a whole drill in which nothing failed counts from now on; what it held up goes on.

        Raises Refused(drill_not_passed), and for a person who is named: unknown_person, person_revoked, not_permitted.
        """
        opened = self._opened()
        held = self._held(opened)
        verb = RegisterDrill(opened.installation_id, rehearsal, named(by), held)
        registered: list[DrillRecord] = await opened.write(verb)
        await self._wake_others(opened, held)
        return {"items": [drill_view(each) for each in registered]}

    def list(self) -> dict[str, Any]:
        """`{items: [DRILL], next_cursor: None}`, the newest first."""
        with self._opened().read() as reader:
            drills = sorted(reader.rows(DrillRecord), key=lambda drill: drill.at, reverse=True)
        return {"items": [drill_view(each) for each in drills], "next_cursor": None}

    async def waive(
        self, operation: str, *, by: Actor | str, secret: str = "", reason: str, until: str
    ) -> dict[str, Any]:
        """WAIVER. `until`: a day (it ends with that day, UTC), a time with its offset, or so long from now (4h, 30d).

        Raises Refused: waiver_end, not_found, usage, wrong_secret, unknown_person, not_permitted.
        """
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            known = operation in opened.registry.operations or any(
                each.name == operation for each in reader.rows(OperationRecord)
            )
        if not known and opened.registry.operations:
            raise Refused("not_found", what="operation", id=operation)  # a slip of the pen would waive nothing
        held = self._held(opened)
        ends_at = _end_of(until, opened.clock.now_us())
        verb = AddWaiver(opened.installation_id, operation, person, _said(reason), ends_at, held)
        waiver: WaiverRecord = await opened.write(verb)
        await self._wake_others(opened, held)
        return waiver_view(waiver, opened.clock.now_us())

    def waivers(self) -> dict[str, Any]:
        """`{items: [WAIVER], next_cursor: None}`: the newest of each operation, the ended too."""
        opened = self._opened()
        with opened.read() as reader:
            found = sorted(reader.rows(WaiverRecord), key=lambda waiver: waiver.operation)
        return {"items": [waiver_view(each, opened.clock.now_us()) for each in found], "next_cursor": None}

    async def revoke(self, operation: str, *, by: Actor | str, reason: str) -> dict[str, Any]:
        """WAIVER, which covers nothing from now on. Stopping takes a name and no secret. Raises Refused(no_waiver)."""
        opened = self._opened()
        verb = RevokeWaiver(opened.installation_id, operation, name_of(by), _said(reason))
        revoked: WaiverRecord = await opened.write(verb)
        return waiver_view(revoked, opened.clock.now_us())

    def unattended(self) -> dict[str, Any]:
        """`{items: [UNATTENDED], next_cursor: None}`: each operation of the code that is sent without a review."""
        return {"items": unattended_of(self._opened()), "next_cursor": None}

    def _held(self, opened: Opened) -> tuple[str, ...]:
        with opened.read() as reader:
            return parked_for(reader, ParkReason.WRITES_SUSPENDED)

    async def _wake_others(self, opened: Opened, woken: tuple[str, ...]) -> None:
        """A run that was parked between the look and the commit was not among those that the verb woke."""
        others = tuple(run_id for run_id in self._held(opened) if run_id not in set(woken))
        if others:
            await opened.write(WakeHeld(opened.installation_id, others))


def unattended_of(opened: Opened) -> list[dict[str, Any]]:
    """UNATTENDED of each registered operation without a review, by name."""
    registry, now = opened.registry, opened.clock.now_us()
    newest: dict[str, int] = {}
    for name, version in registry.workflows:
        newest[name] = max(version, newest.get(name, version))
    with opened.read() as reader:
        drills, waivers = list(reader.rows(DrillRecord)), {w.operation: w for w in reader.rows(WaiverRecord)}
    items: list[dict[str, Any]] = []
    for operation in sorted(registry.operations.values(), key=lambda each: each.name):
        if operation.review is not None:
            continue
        receiver = registry.receivers.get(operation.receiver)
        environment = "" if receiver is None else receiver.environment
        held = unattended(opened.gate, [environment], review_needed=False)
        digest = operation.contract.digest()
        sends = [Covered(operation.name, digest, workflow, version) for workflow, version in newest.items()]
        own = [drill for drill in drills if drill.operation == operation.name]
        known = (operation.name, operation.receiver, environment, held)
        items.append(unattended_view(known, sends, own, waivers.get(operation.name), now))
    return items


def _end_of(text: str, now: int) -> int:
    """Microseconds. Raises Refused(usage)."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text.strip()):
        day = until_of(f"{text.strip()}T00:00:00+00:00", now)
        return day + timedelta(days=1) // timedelta(microseconds=1)
    return until_of(text, now)


def _said(reason: str) -> str:
    if not reason.strip():
        raise Refused("usage", problem="name the reason")
    return reason
