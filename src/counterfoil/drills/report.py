"""The report: one CASE for each case, and the whole as `drill` answers it (docs/reference/cli.md)."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from counterfoil.app.views.next_action import nothing_left
from counterfoil.drills.case import Applied, Planned
from counterfoil.drills.evidence import Evidence, Row
from counterfoil.drills.learning import Learned
from counterfoil.drills.target import Target
from counterfoil.drills.verdict import Judged

Case = dict[str, Any]


def case_of(planned: Planned, evidence: Evidence, judged: Judged, *, seconds: float, repeat: str) -> Case:
    """A case that was played and judged."""
    run, operations = evidence.run, evidence.seen.operations
    mine = _the_one(planned, operations)
    records = [record for held in evidence.held.values() for record in held.records]
    return _case(planned, evidence.applied, seconds, repeat) | {
        "run_id": None if run is None else run["run_id"],
        "operation_ids": [operation["operation_id"] for operation in operations],
        "proposal_version": None if mine is None else mine["proposal_version"],
        "proposal_digest": None if mine is None else mine["payload_digest"],
        "attempts": len(evidence.seen.attempts),
        "receiver": {
            "records": len(records),
            "payload_digests": [record["payload_digest"] for record in records],
            "unledgered_writes": judged.unledgered_writes,
        },
        "receipts": sum(len(operation["receipts"]) for operation in operations if not operation["reused"]),
        "approval_bound": judged.approval_bound,
        "outcome": judged.outcome,
        "visible": judged.visible,
        "owner": None if run is None or judged.outcome != "unresolved" else run["owner"],
        "next_action": nothing_left("There is no run.") if run is None else run["next_action"],
        "verdict": judged.verdict,
        "reasons": list(judged.reasons),
    }


def unplayed(planned: Planned, verdict: str, reason: str, *, seconds: float = 0.0, repeat: str = "") -> Case:
    """A case that was not played, or could not be played to its end."""
    return _case(planned, None, seconds, repeat) | {
        "run_id": None,
        "operation_ids": [],
        "proposal_version": None,
        "proposal_digest": None,
        "attempts": None,
        "receiver": {"records": None, "payload_digests": [], "unledgered_writes": None},
        "receipts": None,
        "approval_bound": None,
        "outcome": "unresolved",
        "visible": False,
        "owner": None,
        "next_action": nothing_left("Nothing of it is known."),
        "verdict": verdict,
        "reasons": [reason],
    }


def listed(cases: Iterable[Planned], target: Target, seed: int) -> list[Case]:
    """What `--list` shows: the cases as they would be played, without a verdict of their own."""
    reason = "not_played: listed, and nothing else."
    return [unplayed(case, "not_run", reason, repeat=repeat_of(case, target, seed)) for case in cases]


def report_of(
    target: Target, learned: Sequence[Learned], cases: Sequence[Case], seconds: float, counted: str
) -> dict[str, Any]:
    """`{target, target_digest, versions, backend, counted, boundaries, cases, summary, guards, registered, kept}`."""
    return {
        "target": target.text,
        "target_digest": target.digest,
        "versions": target.versions,
        "backend": "sqlite",
        "counted": counted,
        "boundaries": list(dict.fromkeys(passed.text for each in learned for passed in each.passed)),
        "cases": list(cases),
        "summary": {
            "cases": len(cases),
            "passed": _count(cases, "pass"),
            "failed": _count(cases, "fail"),
            "not_applicable": _count(cases, "not_applicable"),
            "not_run": _count(cases, "not_run"),
            "seconds": round(seconds, 3),
        },
        "guards": [],
        "registered": None,
        "kept": None,
    }


def repeat_of(planned: Planned, target: Target, seed: int) -> str:
    """The command that plays this case again."""
    return shlex.join(["counterfoil", "drill", *target.typed, "--only", planned.case_id, "--seed", str(seed)])


def _case(planned: Planned, applied: Applied | None, seconds: float, repeat: str) -> Case:
    proof: Mapping[str, Any] = {} if applied is None else applied.proof
    return {
        "case_id": planned.case_id,
        "name": planned.name,
        "boundary": planned.boundary,
        "fault": planned.fault,
        "applied": {"at": None if applied is None else applied.at, "proof": dict(proof)},
        "seconds": round(seconds, 3),
        "repeat": repeat,
    }


def _the_one(planned: Planned, operations: Sequence[Row]) -> Row | None:
    """The operation at the case's boundary; else the last one that was prepared."""
    mine = [operation for operation in operations if operation["operation"] == planned.operation] or list(operations)
    return max(mine, key=lambda operation: operation["number"], default=None)


def _count(cases: Sequence[Case], verdict: str) -> int:
    return sum(case["verdict"] == verdict for case in cases)
