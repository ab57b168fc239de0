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


def newest_around(at: Desk, run_id: str) -> int:
    """The newest entry that a page holds whole; -1 where the run is not seen. To be asked before anything that the page
    shows is read: what is committed in between is then told by the page's stream, not missed by both."""
    try:
        return int(at.evidence.newest(run_id)["sequence"])
    except Refused:
        return -1
