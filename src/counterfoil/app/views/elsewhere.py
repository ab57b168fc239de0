"""Where a run's function is executed when it is not by us, and the page that shows it there."""

from typing import Any
from urllib.parse import quote

from counterfoil import settings
from counterfoil.model.origin import Origin
from counterfoil.model.run import RunRecord


def temporal_view(run: RunRecord) -> dict[str, Any] | None:
    """`{namespace, workflow_id, first_run_id, url}` of a run on Temporal; else None. `url` is null where no address is set."""
    origin = Origin.of(run.workflow, run.request_id)
    if origin is None:
        return None
    base = settings.value_of("COUNTERFOIL_TEMPORAL_UI").rstrip("/")
    namespace, workflow_id = quote(origin.namespace, safe=""), quote(origin.workflow_id, safe="")
    return {
        "namespace": origin.namespace,
        "workflow_id": origin.workflow_id,
        "first_run_id": origin.first_run_id,
        "url": f"{base}/namespaces/{namespace}/workflows/{workflow_id}" if base else None,
    }
