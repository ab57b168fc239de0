"""What a fresh child reads of the ledger after a case, as plain JSON. The verdict is a pure function of it."""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.life import placed
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord

LOOK = "counterfoil.drills.seen:look"

Rows = list[dict[str, Any]]


def _rows() -> Rows:
    return []


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """`runs` and `operations`: RUN and OPERATION of the command line, an operation with its `payload`.

    `attempts`, `reviews`: the rows as they are stored.

    `entries`: {run_id, sequence, kind, name, position, at_us, data} of every run, in order. `inbox`: its items. `incidents`:
    with their closed_at. `verify`, `restore`: as the commands. `now`: the case's time in microseconds.
    """

    runs: Rows = field(default_factory=_rows)
    operations: Rows = field(default_factory=_rows)
    attempts: Rows = field(default_factory=_rows)
    reviews: Rows = field(default_factory=_rows)
    entries: Rows = field(default_factory=_rows)
    incidents: Rows = field(default_factory=_rows)
    inbox: Rows = field(default_factory=_rows)
    verify: dict[str, Any] = field(default_factory=dict[str, Any])
    restore: dict[str, Any] = field(default_factory=dict[str, Any])
    now: int = 0

    @staticmethod
    def of(told: dict[str, Any]) -> "Seen":
        """From what `look` wrote."""
        return Seen(**{each.name: told[each.name] for each in fields(Seen)})


def look(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Read everything, and write it as one JSON document to the file `to`."""
    placed(app, arguments, say)
    opened = app.open()
    rows = _stored(opened)
    payloads: dict[str, Any] = rows.pop("payloads")
    told = Seen(
        runs=[app.runs.show(run_id) for run_id in rows.pop("run_ids")],
        operations=[o | {"payload": payloads[o["operation_id"]]} for o in _all(app.operations.list)],
        incidents=_all(app.incidents.list),
        inbox=_all(app.inbox.list),
        verify=app.verify(),
        restore=app.restore.status(),
        now=opened.clock.now_us(),
        **rows,
    )
    Path(arguments["to"]).write_text(json.dumps(asdict(told), default=str))
    app.close()


def _all(listed: Callable[..., dict[str, Any]]) -> Rows:
    found: Rows = []
    cursor: Any = None
    while True:
        page = listed(cursor=cursor, limit=500)
        found += page["items"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


def _stored(opened: Opened) -> dict[str, Any]:
    with opened.read() as reader:
        runs = sorted(reader.rows(RunRecord), key=lambda run: run.number)
        return {
            "run_ids": [run.run_id for run in runs],
            "payloads": {o.operation_id: parsed(o.payload) for o in reader.rows(OperationRecord)},
            "attempts": [asdict(attempt) for attempt in reader.rows(AttemptRecord)],
            "reviews": [asdict(review) for review in reader.rows(ReviewRecord)],
            "entries": [
                {
                    "run_id": run.run_id, "sequence": entry.sequence, "kind": entry.kind.value, "name": entry.name,
                    "position": entry.position, "at_us": entry.at, "data": parsed(entry.body).get("data") or {},
                }
                for run in runs
                for entry in reader.entries(run.run_id)
            ],
        }  # fmt: skip
