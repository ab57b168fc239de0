"""The noun `incidents`: the receiver contradicts us, until a person has weighed it."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.finding import known_id
from counterfoil.app.views.incident import incident_view
from counterfoil.app.views.listing import listed
from counterfoil.app.views.shown import Shown
from counterfoil.engine.administration import CloseIncident
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.installation import IncidentRecord
from counterfoil.store.port import Places, Reader


class Incidents:
    """`app.incidents`. An incident is named by its id, a unique prefix, its number, or `inc-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(
        self, *, open_only: bool = False, places: Places = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items, next_cursor}`, newest first. `places`: where may be seen.

        Each {incident_id, number, operation_id, run_id, business_key, what, evidence, opened_at, closed_at, closed_by,
        reason, next_action}.
        """
        opened = self._opened()
        with opened.read() as reader:
            page = reader.lists.incidents(open_only=open_only, places=places, before=cursor, limit=limit)
            shown = Shown.of(opened, reader)
            return listed([incident_view(shown, incident) for incident in page.items], page.next_cursor)

    def show(self, incident: str) -> dict[str, Any]:
        """One of them. Raises Refused(not_found, ambiguous_id)."""
        opened = self._opened()
        with opened.read() as reader:
            return incident_view(Shown.of(opened, reader), _incident(reader, incident))

    async def close(self, incident: str, *, by: Actor | str, secret: str = "", reason: str) -> dict[str, Any]:
        """Say that its evidence is weighed: its business key is free again and its run goes on. Gives the incident.

        Raises Refused: incident_closed, wrong_secret, role_missing, own_action, usage.
        """
        if not reason.strip():
            raise Refused("usage", problem="closing an incident names its reason")
        opened = self._opened()
        with opened.read() as reader:
            record = _incident(reader, incident)
            person = proven(reader, by, secret)
        await opened.write(CloseIncident(record.run_id, record.incident_id, record.operation_id, person, reason))
        with opened.read() as reader:
            return incident_view(Shown.of(opened, reader), _incident(reader, record.incident_id))


def _incident(reader: Reader, text: str) -> IncidentRecord:
    record = reader.get(IncidentRecord, known_id(reader, "incident", text))
    assert record is not None, "the id was just found in this snapshot"
    return record
