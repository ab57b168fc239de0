"""What must hold of every run after a storm, however it went: read from the record and from the receivers, from outside."""

import json
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.run import RunState
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.fleet_application import app
from tests.crash.shipping import Shipped


def judged(shipped: list[Shipped], held: dict[str, SandboxProcess]) -> list[str]:
    """Everything that is wrong, a sentence each."""
    records = Counter(str(record["payload_digest"]) for sandbox in held.values() for record in sandbox.records())
    wrong = [
        f"{count} records at a receiver of what nobody shipped"
        for d, count in records.items()
        if d not in _known(shipped)
    ]
    for each in shipped:
        with app.open().read() as reader:
            operations = reader.find(OperationRecord, "run_id", each.run_id)
            attempts = reader.find(AttemptRecord, "run_id", each.run_id)
            entries = reader.entries(each.run_id)
        found = (
            counted(operations, records[each.digest]) + moved(app.runs.show(each.run_id)) + fenced(entries, attempts)
        )
        wrong += [f"{each.number}: {what}" for what in found]
    return wrong


def _known(shipped: list[Shipped]) -> set[str]:
    return {each.digest for each in shipped}


def counted(operations: Sequence[OperationRecord], records: int) -> list[str]:
    """One business key is one operation: at most one record, and exactly one where the journal says that it succeeded."""
    if len(operations) != 1:
        return [f"{len(operations)} operations"]
    status = operations[0].status
    if (
        records > 1
        or (status is OperationStatus.SUCCEEDED and records != 1)
        or (status is OperationStatus.FAILED and records)
    ):
        return [f"the journal says {status.value}, and the receiver holds {records}"]
    return []


def moved(run: dict[str, Any]) -> list[str]:
    """What has not completed says why, whose it is, and what that person can do."""
    if run["state"] == RunState.COMPLETED.value:
        return []
    action = run["next_action"] or {}
    missing = [
        name
        for name, value in {
            "reason": run["reason"],
            "owner": run["owner"],
            "next action": action.get("command"),
        }.items()
        if not value
    ]
    return [f"{run['state']} without {name}" for name in missing]


def fenced(entries: Sequence[Entry], attempts: Sequence[AttemptRecord]) -> list[str]:
    """Each claim has a higher fence than the one before; no position has two results, and nothing is sent under an older fence."""
    claims = [
        (entry.at, json.loads(entry.body)["data"]["fence"]) for entry in entries if entry.kind is EntryKind.STARTED
    ]
    wrong = [f"claimed under {after} after {before}" for (_, before), (_, after) in pairwise(claims) if after <= before]
    steps = Counter(entry.position for entry in entries if entry.kind is EntryKind.STEP)
    wrong += [f"{count} results at {position}" for position, count in steps.items() if count > 1]
    for attempt in attempts:
        newest = max((fence for at, fence in claims if at <= attempt.started_at), default=0)
        if attempt.fence != newest:
            wrong.append(f"attempt {attempt.n} under fence {attempt.fence}, and {newest} drove the run")
    return wrong
