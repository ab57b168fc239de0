"""An incident, and who may close it."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.next_action import close_incident, nothing_left
from counterfoil.app.views.shown import Shown
from counterfoil.model.codec import parsed
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord


def incident_view(shown: Shown, incident: IncidentRecord) -> dict[str, Any]:
    """`{incident_id, number, operation_id, run_id, business_key, what, evidence, opened_at, closed_at, closed_by, reason, next_action}`."""
    return {
        "incident_id": incident.incident_id,
        "number": incident.number,
        "operation_id": incident.operation_id,
        "run_id": incident.run_id,
        "business_key": incident.business_key,
        "what": incident.what,
        "evidence": parsed(incident.evidence),
        "opened_at": rfc3339(incident.opened_at),
        "closed_at": rfc3339(incident.closed_at),
        "closed_by": incident.closed_by,
        "reason": incident.reason,
        "next_action": _next(shown, incident),
    }


def _next(shown: Shown, incident: IncidentRecord) -> dict[str, Any]:
    run = shown.reader.get(RunRecord, incident.run_id)
    operation = shown.reader.get(OperationRecord, incident.operation_id)
    if incident.closed_at is not None or run is None or operation is None:
        return nothing_left("The incident is closed.")
    return close_incident(shown, incident, operation, run)
