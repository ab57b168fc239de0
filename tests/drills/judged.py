"""Evidence made by hand: a refund that went well, to be spoilt in one place."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil import Contract, IdempotencyKey, When
from counterfoil.drills.case import Applied, Planned
from counterfoil.drills.evidence import Evidence, Held
from counterfoil.drills.learning import LearnedOperation
from counterfoil.drills.seen import Seen

DIGEST = "sha256:" + "a" * 64
OTHER = "sha256:" + "b" * 64
AT = "2026-11-30T00:00:00.000000Z"
PLANNED = Planned(workflow="refund", boundary="operation.replied#1", fault="kill-after", operation="create_refund")
CLASSIFIER = [When(status="2xx").means("applied")]
KEYED = Contract(
    api_version="1", classifier=CLASSIFIER, key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))
)
BLIND = Contract(api_version="1", classifier=CLASSIFIER, procedure="Ask the desk.")
NOTHING = {"code": "none", "sentence": "", "who": {"kind": "none", "name": None}, "command": None, "deadline_at": None}
RESOLVE = {
    "code": "resolve", "sentence": "", "who": {"kind": "operator", "name": "lead"}, "command": "counterfoil operations resolve op-1",
    "deadline_at": AT,
}  # fmt: skip
RECORD = {"id": "re-1", "reference": "op_1", "key": "k-1", "payload_digest": DIGEST, "payload": {"amount": 5}, "at": AT}
WRITE = {
    "reference": "op_1",
    "key": "k-1",
    "payload_digest": DIGEST,
    "status": 201,
    "record_id": "re-1",
    "replayed": False,
}


def run(**other: Any) -> dict[str, Any]:
    made = {
        "run_id": "run_1", "number": 1, "workflow": "refund", "request_id": "drill", "state": "completed", "reason": None,
        "sentence": "", "owner": "lead", "deadline_at": None, "next_action": NOTHING,
        "budgets": [{"kind": "attempts", "limit": 5, "used": 1}],
    }  # fmt: skip
    return made | other


def parked(reason: str | None = "outcome_unknown", **other: Any) -> dict[str, Any]:
    return run(state="parked", reason=reason, deadline_at=AT, next_action=RESOLVE) | other


def operation(**other: Any) -> dict[str, Any]:
    made = {
        "operation_id": "op_1", "number": 1, "run_id": "run_1", "operation": "create_refund", "receiver": "stripe",
        "business_key": "R-1", "status": "succeeded", "reused": False, "payload": {"amount": 5}, "payload_digest": DIGEST,
        "proposal_version": 1, "idempotency_key": "k-1", "receipts": [{"reference": "re-1"}], "owner": "lead",
        "next_action": NOTHING,
    }  # fmt: skip
    return made | other


def attempt(**other: Any) -> dict[str, Any]:
    made = {"attempt_id": "att_1", "operation_id": "op_1", "n": 1, "idempotency_key": "k-1", "review_id": "rev_1"}
    return made | other


def review(**other: Any) -> dict[str, Any]:
    made = {"review_id": "rev_1", "operation_id": "op_1", "digest": DIGEST, "role": "approver", "needed": 1}
    return made | other


def answer(sequence: int = 1, **other: Any) -> dict[str, Any]:
    data = {"operation_id": "op_1", "review_id": "rev_1", "person": "ana", "decision": "approve", "digest": DIGEST}
    return {"run_id": "run_1", "sequence": sequence, "kind": "answer", "data": data | other}


def in_flight(sequence: int = 2) -> dict[str, Any]:
    data = {"operation_id": "op_1", "attempt_id": "att_1", "n": 1}
    return {"run_id": "run_1", "sequence": sequence, "kind": "in_flight", "data": data}


def seen(**other: Any) -> Seen:
    made: dict[str, Any] = {
        "runs": [run()], "operations": [operation()], "attempts": [attempt()], "reviews": [review()],
        "entries": [answer(), in_flight()], "verify": {"sound": True}, "restore": {"recognised_by": None},
    }  # fmt: skip
    return Seen(**made | other)


def evidence(
    *,
    records: list[dict[str, Any]] | None = None,
    writes: list[dict[str, Any]] | None = None,
    contract: Contract = KEYED,
    applied: dict[str, Any] | None = None,
    reviewed: bool = True,
    **other: Any,
) -> Evidence:
    """`other`: fields of Seen that are not as in a refund that went well."""
    learned = LearnedOperation(
        name="create_refund", receiver="stripe", kind="key", contract=contract, contract_digest=DIGEST, reviewed=reviewed,
        business_key=True,
    )  # fmt: skip
    held = Held([RECORD] if records is None else records, [WRITE] if writes is None else writes)
    done = replace(Applied(at=AT, proof={"wait_status": 9}, ends=frozenset()), **(applied or {}))
    return Evidence(
        planned=PLANNED, applied=done, seen=seen(**other), held={"stripe": held}, request_id="drill",
        operations={"create_refund": learned},
    )  # fmt: skip
