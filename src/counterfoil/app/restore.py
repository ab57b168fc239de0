"""The noun `restore`: after a restore, or in a copy opened elsewhere, nothing is sent until a named person finishes it."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from counterfoil.app.access.actor import Actor, name_of, proven
from counterfoil.app.finding import known_id
from counterfoil.app.reconciling.lanes import Told, reconcile, silent
from counterfoil.app.views.restore import restore_view
from counterfoil.app.writes import parked_for
from counterfoil.engine.left_open import open_operations
from counterfoil.engine.opened import Opened
from counterfoil.engine.restoring import FinishRestore, begin_restore
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason
from counterfoil.store.port import Reader

AS = ("restored", "moved", "clone")


class Restore:
    """`app.restore`."""

    def __init__(self, opened: Callable[[], Opened], attested: Callable[[], Opened] | None = None) -> None:
        self._opened = opened
        self._attested = attested or opened  # opens it also where this host may not yet judge

    def status(self) -> dict[str, Any]:
        """RESTORE: {recognised_by, sentence, suspended, in_doubt, adopted, orphans, state, restored_at, incarnation, asked, unasked,
        not_askable, doubts}.

        `in_doubt`: how many operations are in doubt; of these `asked` were answered about since the restore began, `unasked` can
        be asked about and were not, `not_askable` have no lookup. `adopted`: how many records of receivers were adopted,
        `orphans`: those of them that no operation was planned for since.
        `doubts`: the first of them, [{operation_id, number, run_id, operation, receiver, status, showed, owner, next_action}].
        """
        opened = self._opened()
        with opened.read() as reader:
            return restore_view(opened, reader)

    async def reconcile(
        self, *, receiver: str | None = None, per_minute: int | None = None, by: str | None = None, told: Told = silent
    ) -> dict[str, Any]:
        """Ask receivers about everything that was prepared and not closed. Nothing is sent but lookups. RESTORE with
        `{reconciled: {asked, asked_before, closed: {succeeded, failed}, in_doubt, unreachable, left, not_askable, incidents,
        adopted, problems}}`.

        Each question is recorded with what it showed, and the recovery table rules on it; it may be stopped at any time, and goes
        on where the record says. `per_minute`: at most so many questions at one receiver, by default the setting's.
        Raises Refused: no_restore, not_found, usage, and for a person who is named: unknown_person, not_permitted.
        """
        return await reconcile(self._opened(), receiver=receiver, per_minute=per_minute, by=by, told=told)

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

    async def finish(
        self,
        *,
        as_: str,
        by: Actor | str,
        secret: str = "",
        reason: str,
        accept: str | Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        """A person attests that every sender from before is gone, and sending is possible again. As `status`.

        `as_`: restored, moved, or clone (a clone never acts on an operation that it did not prepare). `accept`: why sending may
        go on beside what is in doubt: one note for all of it, or a note by operation.
        Raises Refused: no_restore, doubts_left, wrong_secret, usage.
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
            notes = _notes(reader, accept) if isinstance(accept, Mapping) else ()
            doubts = tuple(each.operation_id for each in open_operations(reader))
        note = (accept.strip() or None) if isinstance(accept, str) else None
        verb = replace(verb, doubts=doubts, notes=notes, note=note)
        if as_ == "clone" and opened.marker is not None:
            opened.marker.set_apart()  # its original keeps the one it has
        # It sends, so the marker follows it: with the higher incarnation it takes the marker over from any other file.
        await opened.write(verb)
        return self.status()


def _notes(reader: Reader, accept: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    """Each operation by its id, with a note that says something."""
    bare = [name for name, note in accept.items() if not note.strip()]
    if bare:
        raise Refused("usage", problem=f"say why {bare[0]} is accepted")
    return tuple((known_id(reader, "operation", name), note) for name, note in accept.items())
