"""A report as `drill` gives it, made by hand: every verdict, a named case, two cases in one cell, and texts that want out."""

from typing import Any

HOSTILE = "</style></code><script>alert(1)</script>\u202e]]>&\"'\x00\x1b[31m\ud800\ufffe"
DIGEST = "sha256:" + "5f" * 32
BOUNDARIES = ["run.submitted#1", "run.claimed#1", "step.ended#1", "operation.first_byte#1", "operation.replied#1"]
FAULTS = ["kill-before", "kill-after", "drop-reply", "freeze-takeover-thaw", "key-store-lost", "archived-then-again"]


def case(boundary: str, fault: str, verdict: str = "pass", **other: Any) -> dict[str, Any]:
    """One CASE of the shapes, all fields in it."""
    made: dict[str, Any] = {
        "case_id": f"refund/{boundary}/{fault}",
        "name": None,
        "boundary": boundary,
        "fault": fault,
        "applied": {"at": boundary, "proof": {"wait_status": 9, "pid": 4711, "lives": [{"pid": 4711, "signal": "SIGKILL"}]}},
        "run_id": "run_4k2j6h0v",
        "operation_ids": ["op_7d1m3c9x"],
        "proposal_version": 1,
        "proposal_digest": DIGEST,
        "attempts": 2,
        "receiver": {"records": 1, "payload_digests": [DIGEST], "unledgered_writes": 0},
        "receipts": 1,
        "approval_bound": True,
        "outcome": "succeeded",
        "visible": True,
        "owner": "payments-oncall",
        "next_action": {
            "code": "none", "sentence": "Nothing is left to do.",
            "who": {"kind": "none", "name": None}, "command": None, "deadline_at": None,
        },
        "verdict": verdict,
        "reasons": [],
        "seconds": 1.234,
        "repeat": f"counterfoil drill shop:refund --only 'refund/{boundary}/{fault}' --seed 7",
    }  # fmt: skip
    return made | other


def report(*cases: dict[str, Any], **other: Any) -> dict[str, Any]:
    """The data of `drill` for these cases; without any, for a small matrix that has everything in it."""
    found = list(cases) or _matrix()
    counted = {name: sum(each["verdict"] == verdict for each in found) for name, verdict in COUNTED.items()}
    made: dict[str, Any] = {
        "target": "shop:refund",
        "target_digest": DIGEST,
        "versions": {
            "counterfoil": "0.1.0",
            "python": "3.11.2",
            "workflows": {"refund": 1},
            "contracts": {"x": DIGEST},
        },
        "boundaries": BOUNDARIES,
        "cases": found,
        "summary": {"cases": len(found), **counted, "seconds": sum(each["seconds"] for each in found)},
        "guards": [
            {"guard": "key-reuse", "caught_by": ["refund/operation.replied#1/drop-reply"]},
            {"guard": "tombstone", "caught_by": []},
        ],
        "registered": None,
    }
    return made | other


COUNTED = {"passed": "pass", "failed": "fail", "not_applicable": "not_applicable", "not_run": "not_run"}


def _matrix() -> list[dict[str, Any]]:
    unresolved = {
        "code": "resolve", "sentence": "Find out, then resolve it.", "who": {"kind": "operator", "name": "payments-oncall"},
        "command": "counterfoil operations resolve op-1 --as succeeded --expect-version 4", "deadline_at": "2026-11-30T12:00:00Z",
    }  # fmt: skip
    cases = [case(boundary, fault) for boundary in BOUNDARIES for fault in FAULTS[:2]]
    cases[-1] |= {"name": "accepted-no-receipt"}
    return [
        *cases,
        case("operation.first_byte#1", "drop-reply", outcome="unresolved", next_action=unresolved, name="refund-reply-lost"),
        case("operation.first_byte#1", "drop-reply", case_id="refund/operation.first_byte#1/drop-reply/second"),
        case(
            "operation.replied#1", "freeze-takeover-thaw", "fail", reasons=["The receiver holds 2 records.", HOSTILE],
            applied={"at": HOSTILE, "proof": {HOSTILE: HOSTILE}},
            receiver={"records": 2, "payload_digests": [DIGEST, HOSTILE], "unledgered_writes": 1},
            owner=HOSTILE, repeat=f"counterfoil drill {HOSTILE}",
        ),
        case("operation.replied#1", "key-store-lost", "not_applicable", reasons=["It loses its keys and cannot be asked."]),
        case("run.submitted#1", "archived-then-again", "not_run", reasons=["Archives are built by issue 8."]),
    ]  # fmt: skip
