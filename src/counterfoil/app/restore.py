"""The noun `restore`: after a restore, or in a copy opened elsewhere, nothing is sent until a named person finishes it."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.views.stops import restore_view
from counterfoil.app.writes import parked_for
from counterfoil.engine.opened import Opened
from counterfoil.engine.restoring import FinishRestore, begin_restore
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason

AS = ("restored", "moved", "clone")


class Restore:
    """`app.restore`."""

    def __init__(self, opened: Callable[[], Opened], attested: Callable[[], Opened] | None = None) -> None:
        self._opened = opened
        self._attested = attested or opened  # opens it also where this host may not yet judge

    def status(self) -> dict[str, Any]:
        """`{recognised_by, suspended, in_doubt, adopted, state, restored_at, incarnation}`.

        `in_doubt`: how many operations are in doubt. `adopted`: how many records of the receiver were adopted.
        """
        with self._opened().read() as reader:
            return restore_view(reader)

    async def begin(self, *, by: Actor | str, reason: str) -> dict[str, Any]:
        """A person says that this database was restored, where nothing recognised it. Suspends sending. As `status`."""
        if not reason.strip():
            raise Refused("usage", problem="name the reason")
        opened = self._attested()
        outside = None if opened.marker is None else opened.marker.read()
        with opened.read() as reader:
            verb = begin_restore(
                reader,
                f"{name_of(by)}: {reason}",
                outside_incarnation=0 if outside is None else outside.mark.incarnation,
                by=name_of(by),
            )
        await opened.write(verb)
        return self.status()

    async def finish(self, *, as_: str, by: Actor | str, secret: str = "", reason: str) -> dict[str, Any]:
        """A person attests that every sender from before is gone, and sending is possible again. As `status`.

        `as_`: restored, moved, or clone (a clone never acts on an operation that it did not prepare).
        Raises Refused: no_restore, wrong_secret, usage.
        """
        if as_ not in AS:
            raise Refused("usage", problem=f"--as {as_!r} is none of {', '.join(AS)}")
        if not reason.strip():
            raise Refused("usage", problem="name the reason")
        opened = self._opened()
        with opened.read() as reader:
            person = proven(reader, by, secret)
            # Also those whose outcome was unknown: while a restore is open no sender is gone, and absence proves nothing.
            held = parked_for(reader, ParkReason.RESTORED) + parked_for(reader, ParkReason.OUTCOME_UNKNOWN)
            named = () if opened.marker is None else sorted(head.run_id for head in opened.marker.heads())
            verb = FinishRestore.over(reader, opened.installation_id, as_, person, reason, held, named)
        if as_ == "clone" and opened.marker is not None:
            opened.marker.set_apart()  # its original keeps the one it has
        # It sends, so the marker follows it: with the higher incarnation it takes the marker over from any other file.
        await opened.write(verb)
        return self.status()
