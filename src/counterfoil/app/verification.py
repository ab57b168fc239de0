"""`verify`: is the record as it was written, and do the tables say what the record says?"""

from collections.abc import Callable
from typing import Any

from counterfoil.app.finding import known_id
from counterfoil.engine.opened import Opened
from counterfoil.store.verify import VerifyReport
from counterfoil.store.verify import verify as verify_database


def verify(opened: Callable[[], Opened], *, run: str | None = None) -> dict[str, Any]:
    """`{sound, chains, entries, heads_outside, broken, rows_compared, differences, signature}` of all chains, or of one run's.

    `sound` False is exit 1. Raises Refused(not_found, ambiguous_id) for an unknown run.
    """
    here = opened()
    heads = () if here.marker is None else here.marker.heads()
    with here.read() as reader:
        run_id = None if run is None else known_id(reader, "run", run)
        return report(verify_database(reader, heads, run_id=run_id))


def report(found: VerifyReport) -> dict[str, Any]:
    """As `verify` gives it."""
    return {
        "sound": found.sound,
        "chains": found.chains,
        "entries": found.entries,
        "heads_outside": found.heads_outside,
        "broken": [
            {"run_id": place.run_id, "sequence": place.sequence, "problem": place.problem} for place in found.broken
        ],
        "rows_compared": found.rows_compared,
        "differences": [{"table": row.table, "key": row.key, "column": row.column} for row in found.differences],
        "signature": {"key_id": None, "valid": None},
    }
