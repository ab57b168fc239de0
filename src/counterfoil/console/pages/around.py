"""The run around an operation or a review, for who may see it; a grant for one operation shows that operation without it."""

from typing import Any

from counterfoil.app.desk import Desk
from counterfoil.model.errors import Refused


def run_around(at: Desk, run_id: str) -> dict[str, Any]:
    """RUN, or one without a number and with no records where it is not seen."""
    try:
        return at.runs.show(run_id)
    except Refused as refused:
        if refused.code != "not_found":
            raise
    return {"run_id": run_id, "number": None, "records": {"operations": [], "approvals": []}}


def newest_around(at: Desk, run: dict[str, Any]) -> int:
    """What a page that follows the run has seen of it; -1 where it follows nothing."""
    return -1 if run["number"] is None else int(at.evidence.newest(run["run_id"])["sequence"])
