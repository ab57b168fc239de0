"""The noun `writes`: stop sending, and let it go on. Stopping takes a name; letting go on takes its secret, too."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.finding import known_id
from counterfoil.app.receivers import names_receiver
from counterfoil.app.views.stops import suspension_view
from counterfoil.engine.administration import ResumeWrites, SuspendWrites
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.installation import SuspensionRecord
from counterfoil.model.run import ParkReason


class Writes:
    """`app.writes`. Name exactly one of a receiver, an operation, or all."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def status(self) -> dict[str, Any]:
        """`{suspended, restore, items: [{scope, reason, by, at, lifted_at, lifted_by}]}`.

        `suspended`: whether a suspension holds now. `restore`: None, open or finished (an open one stops all sending too).
        """
        opened = self._opened()
        with opened.read() as reader:
            items = [suspension_view(suspension) for suspension in reader.lists.suspensions()]
            installation = reader.installation
        return {
            "suspended": any(item["lifted_at"] is None for item in items),
            "restore": None if installation is None else installation.restore_state,
            "items": items,
        }

    async def suspend(
        self,
        *,
        by: Actor | str,
        reason: str,
        receiver: str | None = None,
        operation: str | None = None,
        all_: bool = False,
    ) -> dict[str, Any]:
        """Nothing is sent there any more; asking goes on. Gives the suspension.

        Raises Refused(usage, unknown_person, not_found): a receiver that nothing here names would stop nothing.
        """
        scope = self._scope(receiver, operation, all_)
        opened = self._opened()
        if receiver is not None and not names_receiver(opened, receiver):
            raise Refused("not_found", what="receiver", id=receiver)
        verb = SuspendWrites(opened.installation_id, scope, name_of(by), _said(reason))
        stored: SuspensionRecord = await opened.write(verb)
        return suspension_view(stored)

    async def resume(
        self,
        *,
        by: Actor | str,
        secret: str = "",
        reason: str,
        receiver: str | None = None,
        operation: str | None = None,
        all_: bool = False,
    ) -> dict[str, Any]:
        """Lift a suspension and wake the runs parked for it. Raises Refused(not_suspended, wrong_secret, usage)."""
        scope = self._scope(receiver, operation, all_)
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            runs = parked_for(reader, ParkReason.WRITES_SUSPENDED)
        lifted: SuspensionRecord = await opened.write(
            ResumeWrites(opened.installation_id, scope, person, _said(reason), runs)
        )
        return suspension_view(lifted)

    def _scope(self, receiver: str | None, operation: str | None, all_: bool) -> str:
        if (receiver is not None) + (operation is not None) + all_ != 1:
            raise Refused("usage", problem="name exactly one of --receiver, --operation and --all")
        if receiver is not None:
            return f"receiver:{receiver}"
        if operation is None:
            return "all"
        with self._opened().read() as reader:
            return f"operation:{known_id(reader, 'operation', operation)}"


def parked_for(reader: Any, reason: ParkReason) -> tuple[str, ...]:
    """The runs that are parked under a reason, all of them."""
    found: list[str] = []
    before: int | None = None
    while True:
        page = reader.lists.runs(state="parked", reason=reason.value, before=before, limit=500)
        found += [run.run_id for run in page.items]
        before = page.next_cursor
        if before is None:
            return tuple(found)


def _said(reason: str) -> str:
    if not reason.strip():
        raise Refused("usage", problem="name the reason")
    return reason
