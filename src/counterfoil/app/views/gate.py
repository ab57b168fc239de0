"""The gate as people see it: operations without a review, the drills that speak for them, the waivers."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.shown import Shown
from counterfoil.engine.gate import send_of
from counterfoil.model.drill import Covered, DrillRecord, WaiverRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.gate import covered, of_drill, stands


def drill_view(drill: DrillRecord) -> dict[str, Any]:
    """DRILL: what a registered drill speaks for, and what it showed."""
    return {
        "operation": drill.operation, "contract_digest": drill.contract_digest, "workflow": drill.workflow,
        "workflow_version": drill.workflow_version, "target": drill.target, "target_digest": drill.target_digest,
        "seed": drill.seed, "cases": drill.cases, "passed": drill.passed, "not_applicable": drill.not_applicable,
        "not_run": drill.not_run, "by": drill.by, "at": rfc3339(drill.at),
    }  # fmt: skip


def waiver_view(waiver: WaiverRecord, now: int) -> dict[str, Any]:
    """WAIVER. `stands`: whether it counts now; it ends by itself."""
    return {
        "operation": waiver.operation, "reason": waiver.reason, "by": waiver.by, "at": rfc3339(waiver.at),
        "until": rfc3339(waiver.ends_at), "stands": stands(waiver, now), "revoked_at": rfc3339(waiver.revoked_at),
        "revoked_by": waiver.revoked_by,
    }  # fmt: skip


def undrilled(shown: Shown, operation: OperationRecord, run: RunRecord) -> Covered | None:
    """What neither a drill nor a waiver covers now; None where one does."""
    send = send_of(operation, run)
    drills = shown.reader.find(DrillRecord, "operation", operation.name)
    waivers = shown.reader.find(WaiverRecord, "operation", operation.name)
    return None if covered(send, drills, waivers, shown.now) else send


def unattended_view(
    known: tuple[str, str, str, bool],
    sends: list[Covered],
    drills: list[DrillRecord],
    waiver: WaiverRecord | None,
    now: int,
) -> dict[str, Any]:
    """One operation without a review. `known`: its name, receiver, environment, and whether the gate holds there.

    `sends`: the contract in force, with each workflow's newest version as the code has it. `undrilled_version`: a drill is
    registered, and for another contract or another version of its workflow than these.
    """
    name, receiver, environment, held = known
    newest = max(drills, key=lambda drill: drill.at, default=None)
    current = [drill for drill in drills if of_drill(drill) in sends]
    waived = waiver is not None and stands(waiver, now)
    return {
        "operation": name, "receiver": receiver, "environment": environment, "gate": held,
        "drill_at": None if newest is None else rfc3339(newest.at),
        "drill_digest": None if newest is None else newest.target_digest,
        "drill_age_seconds": None if newest is None else max(0, now - newest.at) // 1_000_000,
        "drilled": [
            {"workflow": d.workflow, "workflow_version": d.workflow_version, "contract_digest": d.contract_digest}
            for d in current
        ],
        "undrilled_version": bool(drills) and not current,
        "waiver": None if waiver is None or not waived else waiver_view(waiver, now),
    }  # fmt: skip
