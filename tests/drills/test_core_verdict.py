"""The verdict: each reason fires where it must, and only there."""

import ast
import inspect
from typing import Any

import pytest

from counterfoil.drills import checks
from counterfoil.drills.verdict import judge
from tests.drills import judged as made

SECOND = made.RECORD | {"id": "re-2"}
INCIDENT = {"operation_id": "op_1", "business_key": "R-1", "closed_at": None}
UNKNOWN = made.operation(status="unknown", receipts=[], next_action=made.RESOLVE)
OTHERWISE = made.RECORD | {"payload_digest": made.OTHER, "payload": {"amount": "6"}}
CUT = {"sound": False, "heads_outside": "differ", "broken": [{"problem": "truncated"}], "differences": []}
LISTED = [{"run_id": "run_1"}]

# What is spoilt, and the reasons that must be given for it: no more, no fewer.
SPOILT: dict[str, tuple[dict[str, Any], set[str]]] = {
    "two records": ({"records": [made.RECORD, SECOND]}, {"duplicate_records"}),
    "two records, and an incident that asks about them": (
        {"records": [made.RECORD, SECOND], "incidents": [INCIDENT]}, {"duplicate_records"}
    ),
    "two records without a name": (
        {"records": [made.RECORD] + [{"id": id_, "payload_digest": made.OTHER} for id_ in ("x-1", "x-2")]},
        {"duplicate_records"},
    ),
    "two operations of one business key": (
        {
            "records": [made.RECORD, SECOND | {"reference": "op_2", "key": "k-2"}],
            "operations": [made.operation(), made.operation(operation_id="op_2", number=2, idempotency_key="k-2")],
            "attempts": [made.attempt(), made.attempt(attempt_id="att_2", operation_id="op_2", idempotency_key="k-2")],
        },
        {"duplicate_records"},
    ),
    "another amount": (
        {"records": [OTHERWISE]}, {"other_payload"}
    ),
    "another amount, called done after a restore": (
        {"records": [OTHERWISE], "restore": {"recognised_by": "behind"}},
        {"other_payload"},
    ),
    "a write that nobody prepared": (
        {"writes": [made.WRITE, made.WRITE | {"reference": "op_9", "key": "k-9", "record_id": "re-9"}]},
        {"unledgered_writes"},
    ),
    "a write without any name": (
        {"writes": [made.WRITE, {"reference": None, "key": None, "record_id": "re-9"}]}, {"unledgered_writes"}
    ),
    "two writes in one attempt": ({"writes": [made.WRITE, made.WRITE]}, {"unledgered_writes"}),
    "no approval": ({"attempts": [made.attempt(review_id=None)]}, {"approval_missing"}),
    "the approval of another operation": ({"reviews": [made.review(operation_id="op_2")]}, {"approval_elsewhere"}),
    "the approval of another digest": (
        {"reviews": [made.review(digest=made.OTHER)], "entries": [made.answer(digest=made.OTHER), made.in_flight()]},
        {"approval_elsewhere", "approval_not_given"},
    ),
    "approved too late": ({"entries": [made.in_flight(1), made.answer(2)]}, {"approval_not_given"}),
    "one of two approvals": ({"reviews": [made.review(needed=2)]}, {"approval_not_given"}),
    "rejected": ({"entries": [made.answer(decision="reject"), made.in_flight()]}, {"approval_not_given"}),
    "no receipt": ({"operations": [made.operation(receipts=[])]}, {"done_without_receipt"}),
    "no record": ({"records": []}, {"done_without_record"}),
    "called failed": ({"operations": [made.operation(status="failed")]}, {"failed_but_there"}),
    "ended in doubt": ({"operations": [UNKNOWN]}, {"ended_while_open"}),
    "nobody owns it": (
        {"runs": [made.parked(owner=None, next_action=made.RESOLVE | {"who": {"kind": "operator", "name": None}})],
         "operations": [UNKNOWN], "inbox": LISTED, "contract": made.BLIND},
        {"not_visible"},
    ),
    "no end to its wait": (
        {"runs": [made.parked(deadline_at=None, next_action=made.RESOLVE | {"deadline_at": None})], "operations": [UNKNOWN],
         "inbox": LISTED, "contract": made.BLIND},
        {"not_visible"},
    ),
    "nothing to do": (
        {"runs": [made.parked(next_action=made.NOTHING)], "operations": [UNKNOWN], "inbox": LISTED, "contract": made.BLIND},
        {"not_visible"},
    ),
    "not in the inbox": ({"runs": [made.parked()], "operations": [UNKNOWN], "contract": made.BLIND}, {"not_visible"}),
    "a doubt with nothing to do": (
        {"runs": [made.parked()], "operations": [made.operation(status="unknown", receipts=[])], "inbox": LISTED,
         "contract": made.BLIND},
        {"not_visible"},
    ),
    "no run": ({"runs": [made.run(request_id="other")]}, {"no_run"}),
    "still running": (
        {"runs": [made.parked(None, state="running")], "inbox": LISTED, "applied": {"ends": None}}, {"not_at_rest"}
    ),
    "two runs": ({"runs": [made.run(), made.run(number=2)]}, {"several_runs"}),
    "parked though the key makes a repeat harmless": (
        {"runs": [made.parked()], "operations": [UNKNOWN], "inbox": LISTED}, {"needlessly_open"}
    ),
    "parked for nothing": (
        {"runs": [made.parked("poisoned")], "operations": [UNKNOWN], "inbox": LISTED, "contract": made.BLIND},
        {"needlessly_open"},
    ),
    "failed for nothing": ({"runs": [made.run(state="failed")]}, {"needlessly_open"}),
    "more tries than allowed": (
        {"runs": [made.run(budgets=[{"kind": "attempts", "limit": 5, "used": 6}])]}, {"over_budget"}
    ),
    "a broken chain": ({"verify": {"sound": False}}, {"record_not_sound"}),
    "a cut tail, and nobody has noticed": ({"verify": CUT}, {"record_not_sound"}),
    "restored and forged": (
        {"verify": CUT | {"broken": [{"problem": "rewritten"}]}, "restore": {"recognised_by": "behind"}},
        {"record_not_sound"},
    ),
    "restored, and the tables differ": (
        {"verify": CUT | {"differences": [{"table": "runs"}]}, "restore": {"recognised_by": "behind"}},
        {"record_not_sound"},
    ),
    "the fault saw it": ({"applied": {"wrong": ("A second answer decided again.",)}}, {"seen_meanwhile"}),
}  # fmt: skip


def codes(reasons: tuple[str, ...]) -> set[str]:
    return {reason.partition(":")[0] for reason in reasons}


def test_what_went_well_passes() -> None:
    found = judge(made.evidence())
    assert (found.verdict, found.reasons, found.outcome) == ("pass", (), "succeeded")
    assert found.visible and found.approval_bound and found.unledgered_writes == 0


@pytest.mark.parametrize("what", SPOILT)
def test_what_is_spoilt_is_named(what: str) -> None:
    spoilt, expected = SPOILT[what]
    found = judge(made.evidence(**spoilt))
    assert found.verdict == "fail" and codes(found.reasons) == expected


def test_every_reason_is_fired_above() -> None:
    """Each check yields pairs whose first is a code: all of them are met."""
    yielded = {
        element.value if isinstance(element, ast.Constant) else getattr(checks, ast.unparse(element))
        for node in ast.walk(ast.parse(inspect.getsource(checks)))
        if isinstance(node, ast.Yield) and isinstance(node.value, ast.Tuple)
        for element in node.value.elts[:1]
        if not (isinstance(element, ast.Constant) and " " in str(element.value))
    }
    said = {"owner", "deadline"}  # of `_visible`: what is lacking, no code
    met = set().union(*(expected for _, expected in SPOILT.values()))
    assert {code for code in yielded if isinstance(code, str)} - said == met


@pytest.mark.parametrize(
    "allowed",
    [
        {"records": [made.RECORD | {"payload_digest": made.OTHER, "payload": {"amount": "5", "metadata": "x"}}]},
        {"runs": [made.parked()], "operations": [UNKNOWN], "inbox": LISTED, "contract": made.BLIND},
        {"runs": [made.parked("step_failed")], "inbox": LISTED, "applied": {"ends": frozenset({"step_failed"})}},
        {"runs": [made.parked("restored")], "inbox": LISTED, "applied": {"ends": None}},
        {"operations": [made.operation(status="failed")], "incidents": [INCIDENT]},
        {"operations": [made.operation(reused=True)], "records": [], "writes": [], "attempts": [], "entries": []},
        {"writes": [made.WRITE | {"reference": None, "key": None, "record_id": None}]},
        {"restore": {"recognised_by": "behind"}, "writes": [made.WRITE, made.WRITE | {"reference": "op_9", "key": "k-9"}]},
        {"restore": {"recognised_by": "behind"}, "verify": CUT},
        {
            "restore": {"recognised_by": "behind"}, "records": [OTHERWISE], "runs": [made.parked()], "operations": [UNKNOWN],
            "inbox": LISTED, "contract": made.BLIND,
        },
    ],
    ids=["form", "no way out", "allowed end", "any end", "failed and asked", "reused", "nameless", "restored", "cut",
         "decided anew"],
)  # fmt: skip
def test_what_may_be(allowed: dict[str, Any]) -> None:
    assert judge(made.evidence(**allowed)).reasons == ()


def test_a_residue_is_shown_and_is_no_failure() -> None:
    residue = {"residue": "The receiver has lost its keys and cannot be asked."}
    found = judge(made.evidence(records=[made.RECORD, SECOND], applied=residue))
    assert found.verdict == "not_applicable" and codes(found.reasons) == {"residue", "duplicate_records"}
    assert judge(made.evidence(applied=residue)).verdict == "pass", "nothing was wrong after all"
    worse = judge(made.evidence(records=[made.RECORD, SECOND], verify={"sound": False}, applied=residue))
    assert worse.verdict == "fail", "a residue excuses duplicates alone"


def test_nobody_was_asked() -> None:
    quiet: dict[str, Any] = {"reviews": [], "attempts": [made.attempt(review_id=None)], "entries": [made.in_flight()]}
    assert judge(made.evidence(**quiet)).approval_bound is False
    unattended = judge(made.evidence(reviewed=False, **quiet))
    assert unattended.approval_bound is None and unattended.verdict == "pass"
