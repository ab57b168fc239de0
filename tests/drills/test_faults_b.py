"""The faults of delivery, people and receivers, played with real processes on every kind of contract.

Each is shown to have happened, each comes to its right end, and each fails once its protection is taken away.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from counterfoil.drills.case import Fault, NotApplied, Planned
from counterfoil.drills.faults import FAULTS, deliveries, receivers, replies
from counterfoil.drills.faults.delivery import DELIVERY
from counterfoil.drills.faults.holding import held
from counterfoil.model.contract import Contract, When
from tests.drills import parcel
from tests.drills.stages_b import Played, Theatre

SEND, REPLIED, OPENED = "operation.first_byte#1", "operation.replied#1", "review.opened#1"


@pytest.fixture(scope="module")
def theatre(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Theatre]:
    with Theatre.opened(tmp_path_factory.mktemp("stages")) as theatre:
        yield theatre


def held_by(played: Played, receiver: str) -> tuple[int, int]:
    """(records, writes) by the receiver's own account."""
    at = played.evidence.held[receiver]
    return len(at.records), len(at.writes)


# ---------------------------------------------------------------------- the answer


@pytest.mark.parametrize(
    ("case", "outcome", "receiver", "records"),
    [
        (f"keyed/{SEND}/drop-reply", "succeeded", "key", 1),
        (f"looked_up/{SEND}/drop-reply", "succeeded", "lookup", 1),
        (f"blind/{SEND}/drop-reply", "unresolved", "none", 1),
        (f"keyed/{SEND}/error-after-accept", "unresolved", "key", 1),
        (f"keyed/{SEND}/hang", "succeeded", "key", 1),
        (f"keyed/{SEND}/refuse", "unresolved", "key", 0),
    ],
)
def test_lost_hidden_missing_and_refused_answers(
    theatre: Theatre, case: str, outcome: str, receiver: str, records: int
) -> None:
    played = theatre.plays(case)
    assert (played.judged.verdict, played.judged.outcome) == ("pass", outcome), played.judged
    assert held_by(played, receiver)[0] == records
    line = played.applied.proof["log"]
    assert line["fault"] == case.rpartition("/")[2] and line["reference"] == played.operation["operation_id"]
    if case.endswith("refuse"):
        assert line["status"] == 402, "in the contract's own words"
        assert played.operation["status"] == "failed" and played.operation["attempts"][0]["answer"]["status"] == 402
    if case.endswith("hang"):
        assert "Timeout" in played.applied.proof["attempt"]["problem"]


def test_a_refusal_is_found_in_the_words_of_the_contract() -> None:
    def words(*rules: Any) -> tuple[int, dict[str, Any] | None] | None:
        return replies.refusal_in(Contract(api_version="1", classifier=rules))

    refused = When(status="4xx").means("refused")
    assert words(refused) == (422, None)
    assert words(When(status={422, 400}).means("ambiguous"), refused, When(status=402).means("refused")) == (402, None)
    by_body = When(status="any", body={"error.code": "declined", "error.at": ...}).means("refused")
    assert words(by_body) == (422, {"error": {"code": "declined", "at": "there"}})
    assert words(When(status=400, header={"x-refused": "*"}).means("refused")) is None
    assert words(When(status="2xx").means("applied")) is None


# ---------------------------------------------------------------------- freezing


@pytest.mark.parametrize(
    ("case", "receiver", "writes"),
    [
        ("keyed/step.ended#1/freeze-takeover-thaw", "key", 1),
        ("looked_up/marker.flushed#1/freeze-takeover-thaw", "lookup", 1),
        (f"blind/{SEND}/freeze-takeover-thaw", "none", 1),
        (f"keyed/{SEND}/freeze-takeover-thaw:queued", "key", 2),
        (f"looked_up/{SEND}/freeze-takeover-thaw:queued", "lookup", 1),
        (f"blind/{SEND}/freeze-takeover-thaw:queued", "none", 1),
        (f"looked_up/{SEND}/freeze-takeover-thaw:unanswered", "lookup", 1),
        (f"keyed/{SEND}/freeze-takeover-thaw:window-over", "key", 1),
    ],
)
def test_frozen_taken_over_and_thawed(theatre: Theatre, case: str, receiver: str, writes: int) -> None:
    played = theatre.plays(case)
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "succeeded"), played.judged
    assert held_by(played, receiver) == (1, writes)
    proof = played.applied.proof
    assert proof["stopped"]["state"] == "T" and proof["exit_code"] == 0
    assert proof["second"]["fence"] > proof["first"][0]["fence"]
    assert proof["second"]["worker"] != proof["first"][0]["worker"]
    if case.endswith(":queued"):
        assert proof["decided_before"] == 0 and proof["log"]["fault"] == "queued", "it stood before the receiver"
    if case.endswith(":unanswered"):
        assert proof["decided_before"] == 1, "it was accepted, and not answered"


def test_a_request_on_its_way_for_longer_than_its_key_is_two_records_and_an_incident(theatre: Theatre) -> None:
    """What no rule can prevent is not hidden: the thawed worker's own answer names the second record."""
    played = theatre.plays(f"keyed/{SEND}/freeze-takeover-thaw:queued-past-window")
    assert held_by(played, "key") == (2, 2)
    assert played.judged.verdict == "not_applicable", "two records are never a pass"
    assert [reason.partition(":")[0] for reason in played.judged.reasons] == ["residue", "duplicate_records"]
    assert played.judged.reasons[1].endswith("An open incident asks about it.")
    (incident,) = played.evidence.seen.incidents
    assert incident["closed_at"] is None and incident["operation_id"] == played.operation["operation_id"]
    receipts = {receipt["reference"] for receipt in played.operation["receipts"]}
    assert receipts == {record["id"] for record in played.evidence.held["key"].records}


# ---------------------------------------------------------------------- delivery


def test_two_deliveries_under_one_request_id_are_one_run(theatre: Theatre) -> None:
    played = theatre.plays("reviewed/run.submitted#1/two-deliveries")
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "succeeded"), played.judged
    assert [each["state"] for each in played.applied.proof["together"]] == ["T", "T"]
    assert sorted(each["admitted"] for each in played.applied.proof["told"]) == ["existing", "new"]
    assert len(played.evidence.seen.runs) == 1


@pytest.mark.parametrize("workflow", ["blind", "reviewed"])
def test_two_deliveries_of_one_intention_are_one_record(theatre: Theatre, workflow: str) -> None:
    played = theatre.plays(f"{workflow}/operation.prepared#1/two-deliveries:other-id")
    assert played.judged.verdict == "pass", played.judged
    assert [each["reused"] for each in played.applied.proof["operations"]] == [False, True]
    assert sum(len(held.records) for held in played.evidence.held.values()) == 1


@pytest.mark.parametrize(("boundary", "fault"), [("run.finished#1", "resubmit-same"), (REPLIED, "resubmit-other")])
def test_a_known_request_id_comes_again(theatre: Theatre, boundary: str, fault: str) -> None:
    played = theatre.plays(f"keyed/{boundary}/{fault}")
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "succeeded"), played.judged
    told = played.applied.proof["answer"]
    if fault == "resubmit-same":
        assert told == {"admitted": "existing", "run_id": played.run["run_id"], "refused": None}
    else:
        assert told["details"]["stored"] in told["message"] and told["details"]["given"] in told["message"]


def test_other_content_is_declared_or_made() -> None:
    assert deliveries.other_of({"a": 1}, {"a": 2}) == {"a": 2}
    assert deliveries.other_of({"on": True, "text": "x", "amount": 1}, None) == {"on": True, "text": "x", "amount": 2}
    assert deliveries.other_of({"text": "x"}, None) == {"text": "x-other"}
    assert deliveries.other_of({"list": []}, None) is None and deliveries.other_of("x", None) is None


# ---------------------------------------------------------------------- people


@pytest.mark.parametrize(
    ("case", "answers"),
    [
        (f"two_reviewed/{OPENED}/answer-twice", ["earlier", "now", "earlier", "review_closed"]),
        (f"reviewed/{OPENED}/answer-late", ["review_closed"]),
        (f"reviewed/{OPENED}/answer-other-version", ["digest_mismatch"]),
        (f"revised/{OPENED}/answer-other-version:stale", ["review_closed", "digest_mismatch"]),
    ],
)
def test_answers_that_decide_nothing(theatre: Theatre, case: str, answers: list[str]) -> None:
    played = theatre.plays(case)
    assert played.judged.verdict == "pass", played.judged
    proof = played.applied.proof
    given = proof["answers"] if "answers" in proof else [proof["answer"]]
    told = [each.get("decided", each.get("refused")) for each in given]
    assert sorted(told[:2]) + told[2:] == answers if "twice" in case else told == answers
    if "answer-late" in case:
        assert (played.run["reason"], sum(len(h.writes) for h in played.evidence.held.values())) == (
            "review_expired",
            0,
        )
    elif case.startswith("revised"):
        assert proof["revised"] and played.operation["proposal_version"] == 2 and played.judged.outcome == "succeeded"


def test_who_loses_the_right_authorises_nothing_more(theatre: Theatre) -> None:
    played = theatre.plays("reviewed/operation.in_flight#1/authority-withdrawn")
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "succeeded"), played.judged
    (gone,) = played.applied.proof["revoked"]
    assert played.applied.proof["killed"]["wait_status"] == 9
    assert played.operation["approval"]["reviewer"] not in (None, gone), "somebody else was asked"


# ---------------------------------------------------------------------- receivers


@pytest.mark.parametrize("workflow", ["looked_up", "reviewed"])
def test_a_lookup_that_lags_is_waited_for(theatre: Theatre, workflow: str) -> None:
    played = theatre.plays(f"{workflow}/{SEND}/lookup-lags")
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "succeeded"), played.judged
    assert played.applied.proof["results"][0] == "absent" and played.applied.proof["results"][-1] == "match"
    assert sum(len(held.records) for held in played.evidence.held.values()) == 1


def test_nothing_is_repeated_under_a_key_whose_time_is_over(theatre: Theatre) -> None:
    played = theatre.plays(f"keyed/{REPLIED}/key-window-over")
    assert (played.judged.verdict, played.judged.outcome) == ("pass", "unresolved"), played.judged
    assert held_by(played, "key") == (1, 1) and played.run["reason"] == "outcome_unknown"


def test_a_receiver_that_loses_its_keys(theatre: Theatre) -> None:
    blind = theatre.plays(f"keyed/{REPLIED}/key-store-lost")
    assert blind.judged.verdict == "not_applicable" and held_by(blind, "key")[0] == 2
    assert blind.judged.reasons[0] == f"residue: {receivers.RESIDUE}"
    assert blind.applied.proof["forgotten"]["forgotten"] >= 1, "it had this operation's key to lose"
    asked = theatre.plays(f"reviewed/{REPLIED}/key-store-lost")
    assert asked.judged.verdict == "pass" and held_by(asked, "both") == (1, 1), "asked first, so nothing was repeated"


# ---------------------------------------------------------------------- without a protection


@pytest.mark.parametrize(
    ("case", "guard"),
    [
        (f"keyed/{SEND}/drop-reply", "key-reuse"),
        (f"looked_up/{SEND}/freeze-takeover-thaw:queued", "sender-gone"),
        (f"keyed/{SEND}/freeze-takeover-thaw", "attempt-deadline"),
        ("keyed/step.ended#1/freeze-takeover-thaw", "fence"),
        (f"looked_up/{SEND}/lookup-lags", "visibility-wait"),
        (f"keyed/{REPLIED}/key-window-over", "window-check"),
        (f"reviewed/{OPENED}/answer-other-version", "payload-digest"),
        (f"two_reviewed/{OPENED}/answer-twice", "approval-single-use"),
        ("reviewed/operation.in_flight#1/authority-withdrawn", "approval-recheck"),
        ("keyed/operation.prepared#1/two-deliveries:other-id", "business-key"),
        ("keyed/run.finished#1/resubmit-same", "tombstone"),
    ],
)
def test_without_its_protection_the_case_fails(theatre: Theatre, case: str, guard: str) -> None:
    assert theatre.plays(case, without=guard).judged.verdict == "fail"


def test_what_cannot_be_shown_to_have_happened_is_not_applied(theatre: Theatre) -> None:
    planned = Planned(workflow="keyed", boundary="operation.first_byte#2", fault="drop-reply", operation="by_key")
    with theatre.stage("keyed") as stage, pytest.raises(NotApplied, match="Nobody stood still"):
        held(stage, planned, "before:operation.first_byte#2")


# ---------------------------------------------------------------------- where they apply


def test_each_applies_only_where_its_feature_is(theatre: Theatre) -> None:
    where = {
        w: {fault.name for fault in DELIVERY if theatre.cases(w, fault.name)} for w in ("blind", "keyed", "reviewed")
    }
    everywhere = {
        "drop-reply", "error-after-accept", "hang", "refuse", "freeze-takeover-thaw", "two-deliveries", "resubmit-same",
        "resubmit-other",
    }  # fmt: skip
    assert where["blind"] == everywhere
    assert where["keyed"] == everywhere | {"key-window-over", "key-store-lost"}
    assert where["reviewed"] == {fault.name for fault in DELIVERY}
    variants = {planned.variant for planned in theatre.cases("blind", "freeze-takeover-thaw")}
    assert variants == {None, "queued", "unanswered"}, "no key, no window to be over"


def test_all_fifteen_are_registered() -> None:
    assert [fault for fault in FAULTS.values() if fault in DELIVERY] == list(DELIVERY) and len(DELIVERY) == 15
    assert all(isinstance(fault, Fault) and fault.sentence.endswith(".") for fault in DELIVERY)
    assert {o.name for o in parcel.app.registry.operations.values()} >= {"by_key", "by_lookup", "by_nothing", "by_both"}
