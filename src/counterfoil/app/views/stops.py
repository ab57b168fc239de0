"""What stops sending: suspensions."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.installation import SuspensionRecord


def suspension_view(suspension: SuspensionRecord) -> dict[str, Any]:
    """`{scope, reason, by, at, lifted_at, lifted_by}`."""
    return {
        "scope": suspension.scope,
        "reason": suspension.reason,
        "by": suspension.by,
        "at": rfc3339(suspension.at),
        "lifted_at": rfc3339(suspension.lifted_at),
        "lifted_by": suspension.lifted_by,
    }
