"""The shapes of the command line, over a real database: what is shown of a run at each stage of its life."""

import asyncio
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.administration import RegisterWorker, ResumeWrites, SuspendWrites, begin_restore
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.finish import Finish
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.reviews import Answer
from counterfoil.engine.steps import EndStep
from counterfoil.engine.waits import AppendMessage, PutDocument
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason, RunState
from tests.unit.opened_ledger import HOUR, KEYED, SECOND, START, Filled, SetClock, opened
from tests.unit.view_bench import Bench

NEXT = {"code", "sentence", "who", "command", "deadline_at"}
ATTEMPT = {"attempt_id", "n", "worker_id", "fence", "started_at", "deadline_at", "sent", "reached", "answer", "late"}
RECEIPT = {"receipt_id", "how", "reference", "proves", "body_digest", "received_at"}
APPROVAL = {
    "review_id", "state", "reviewer", "role", "proposal_version", "digest", "scope", "decided_at", "expires_at", "used_by",
}  # fmt: skip
OPERATION = {
    "operation_id", "number", "version", "run_id", "operation", "receiver", "environment", "action", "api_version", "business_key",
    "generation", "occurrence", "key_number", "proposal_version", "payload_digest", "idempotency_key", "status", "reason", "reused",
    "case", "contract", "attempts", "receipts", "approval", "owner", "next_action",
}  # fmt: skip
RUN = {
    "run_id", "number", "workflow", "workflow_version", "generation", "request_id", "input_digest", "state", "reason", "sentence",
    "established", "pending", "uncertain", "next_action", "changed_since_approval", "budgets",
}  # fmt: skip
RECORDS = {"conversation", "working_context", "execution_state", "operations", "receipts", "approvals"}


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Bench(Filled(here, clock))


def command(following: dict[str, Any], bench: Bench) -> list[str]:
    """The words of a printed command, which must name the database, since it is not the default one."""
    words = shlex.split(following["command"])
    assert words[0] == "counterfoil"
    assert words[-2:] == ["--db", str(bench.filled.opened.location.absolute())]
    return words[1:-2]


# ---------------------------------------------------------------------- shapes


def test_every_shape_has_the_fields_of_the_page(bench: Bench) -> None:
    bench.approve()
    bench.filled.answered(bench.filled.in_flight())
    run = bench.run()
    assert set(run) >= RUN | {"records"}
    assert set(run["records"]) == RECORDS
    assert set(run["next_action"]) == NEXT
    (operation,) = run["records"]["operations"]
    assert operation == bench.operation()
    assert set(operation) >= OPERATION
    assert set(operation["attempts"][0]) >= ATTEMPT
    assert set(operation["receipts"][0]) >= RECEIPT
    assert set(operation["approval"]) >= APPROVAL
    assert run["records"]["receipts"] == operation["receipts"]
    assert run["records"]["approvals"] == [operation["approval"]]
    (listed,) = bench.runs.list()["items"]
    assert listed == {name: value for name, value in run.items() if name != "records"}


def test_a_number_a_prefix_and_the_id_name_the_same(bench: Bench) -> None:
    bench.approve()
    run_id = bench.filled.run_id
    for text in ("1", "run-1", run_id, run_id[:12]):
        assert bench.runs.show(text)["run_id"] == run_id
    for text in ("op-1", bench.filled.operation_id):
        assert bench.operations.show(text)["number"] == 1
    for text, code in (("run-7", "not_found"), ("op-1", "not_found"), ("", "not_found")):
        with pytest.raises(Refused) as caught:
            bench.runs.show(text)
        assert caught.value.code == code


def test_a_prefix_of_two_runs_is_ambiguous(bench: Bench) -> None:
    bench.filled.submitted()
    other = Filled(bench.filled.opened, bench.filled.clock, request_id="r-2").submitted()
    with pytest.raises(Refused) as caught:
        bench.runs.show("run_")
    assert caught.value.code == "ambiguous_id"
    assert bench.runs.show(other.run_id)["request_id"] == "r-2"


@pytest.mark.parametrize(("us", "text"), [(None, None), (0, "1970-01-01T00:00:00.000000Z"), (1 << 62, None)])
def test_a_time_is_utc_or_null(us: int | None, text: str | None) -> None:
    assert rfc3339(us) == text


def test_a_list_goes_on_where_its_cursor_says(bench: Bench) -> None:
    for number in range(3):
        Filled(bench.filled.opened, bench.filled.clock, request_id=f"r-{number}").submitted()
    first = bench.runs.list(limit=2)
    rest = bench.runs.list(limit=2, cursor=first["next_cursor"])
    assert [run["number"] for run in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["next_cursor"] is None
    assert bench.runs.list(state="parked")["items"] == []
    for ask in (lambda: bench.runs.list(state="asleep"), lambda: bench.runs.list(reason="tired")):
        with pytest.raises(Refused) as caught:
            ask()
        assert caught.value.code == "usage"


# ---------------------------------------------------------------------- a run's life


def test_a_pending_run_names_the_worker_that_is_missing(bench: Bench) -> None:
    bench.filled.submitted()
    following = bench.run()["next_action"]
    assert (following["code"], following["who"]["kind"], command(following, bench)) == (
        "take_up",
        "scheduler",
        ["worker"],
    )
    bench.filled.ask(RegisterWorker("wrk_1", "h", "b", 1, {}))
    assert bench.run()["next_action"]["command"] is None
    bench.filled.clock.now += HOUR  # not seen for an hour: nobody counts on it
    run = bench.run()
    assert command(run["next_action"], bench) == ["worker"]
    assert run["overdue"] is True


def test_the_elapsed_budget_stands_still_while_a_person_is_waited_for(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()

    def elapsed() -> int:
        return int(next(row["used"] for row in bench.run()["budgets"] if row["kind"] == "elapsed"))

    filled.clock.now += 7 * SECOND
    bench.wait("review", "rev_1")
    assert elapsed() == 7
    filled.clock.now += HOUR
    assert elapsed() == 7


def test_what_is_established_stands_in_the_order_of_the_journal(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    deadlines = filled.opened.deadlines
    filled.ask(EndStep(filled.run_id, filled.fence, "1", "read", {"in": "x", "out": 1}, deadlines))
    filled.ask(AskModel(filled.run_id, filled.fence, "2", "decide clerk", {"in": "x", "n": 1}, 500_000, deadlines))
    assert bench.run()["pending"] == [{"kind": "decision", "id": "2", "since_at": rfc3339(START), "deadline_at": None}]
    spend = next(row for row in bench.run()["budgets"] if row["kind"] == "spend")
    assert (spend["limit"], spend["used"], spend["reserved"], spend["owner"]) == ("3", "0", "0.5", "ops")
    accepted = {"in": "x", "output": 1, "cost_micros": 1234}
    filled.ask(AcceptDecision(filled.run_id, filled.fence, "2", "decide clerk", accepted, 500_000, deadlines))
    assert bench.run()["pending"] == []
    filled.positions = 2
    filled.prepared()
    review = filled.asked()
    filled.ask(Answer(filled.run_id, review.review_id, filled.operation_id, "ana", True, review.digest, "", False))
    filled.answered(filled.in_flight())
    filled.ask(Finish(filled.run_id, filled.fence, RunState.COMPLETED, "1", None, None, ()))
    run = bench.run()
    assert [fact["what"] for fact in run["established"]] == [
        "step read has a result",
        "decide clerk is decided",
        f"draft 1 of op-1 (pay) is {review.digest}",
        "op-1 (pay) is prepared with draft 1",
        "ana approved draft 1 of op-1",
        "op-1 (pay) succeeded",
        "the run ended completed",
    ]
    assert run["established"][4]["evidence"] == review.review_id
    assert run["established"][5]["evidence"] == run["records"]["receipts"][0]["receipt_id"]
    assert re.fullmatch(r"sha256:[0-9a-f]{64}", run["established"][0]["evidence"])
    assert (run["next_action"]["code"], run["next_action"]["who"]["kind"]) == ("none", "none")
    spend = next(row for row in run["budgets"] if row["kind"] == "spend")
    assert (spend["used"], spend["reserved"]) == ("0.001234", "0")


def test_the_records_are_kept_apart(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    deadlines = filled.opened.deadlines
    filled.ask(AppendMessage(filled.run_id, filled.fence, "1", "user", "please", deadlines, {}))
    filled.ask(PutDocument(filled.run_id, filled.fence, "2", "notes", '"short"', deadlines, {}))
    records = bench.run()["records"]
    assert [(m["role"], m["text"]) for m in records["conversation"]] == [("user", "please")]
    assert [(d["name"], d["version"]) for d in records["working_context"]] == [("notes", 1)]
    state = records["execution_state"]
    assert state["head"] == state["entries"][-1]["digest"]
    assert [entry["kind"] for entry in state["entries"]] == ["submitted", "started", "message", "document"]


def test_a_run_that_waits_for_a_review_says_who_answers_and_how(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    filled.prepared()
    review = filled.asked()
    bench.wait("review", review.review_id)
    run = bench.run()
    assert run["pending"] == [
        {"kind": "review", "id": review.review_id, "since_at": rfc3339(START), "deadline_at": rfc3339(START + HOUR)}
    ]
    for following in (run["next_action"], bench.operation()["next_action"], bench.reviews.show("rev-1")["next_action"]):
        assert following["who"] == {"kind": "reviewer", "name": "approver"}
        assert following["deadline_at"] == rfc3339(review.expires_at)
        assert command(following, bench) == ["reviews", "approve", "rev-1", "--digest", review.digest, "--by", "ana"]


def test_a_review_shows_what_it_asks_about(bench: Bench) -> None:
    bench.filled.submitted().claimed().prepared()
    bench.filled.asked()
    review = bench.reviews.show("rev-1")
    assert set(review) >= APPROVAL | {"payload", "sources", "deadline_at", "next_action"}
    assert review["payload"] == {"number": "R-7", "amount": 120}
    assert [source["name"] for source in review["sources"]] == ["letter.md"]
    assert "payload" not in bench.reviews.list(state="open")["items"][0]
    bench.filled.clock.now += 9 * HOUR
    assert bench.reviews.show("rev-1")["next_action"]["code"] == "expire_review"


@pytest.mark.parametrize(
    ("kind", "id_", "code", "words"),
    [
        ("signal", "paid", "send_signal", ["signals", "send", "run-1", "paid"]),
        ("timer", "3", "wake", None),
        ("child", "run_unknown", "wake", None),
    ],
)
def test_what_a_run_waits_for(bench: Bench, kind: str, id_: str, code: str, words: list[str] | None) -> None:
    bench.filled.submitted().claimed()
    bench.wait(kind, id_)
    following = bench.run()["next_action"]
    assert following["code"] == code
    assert (command(following, bench) if following["command"] else None) == words


def test_a_run_that_waits_for_a_receiver_waits_for_an_attempt(bench: Bench) -> None:
    bench.approve()
    attempt = bench.filled.in_flight()
    assert [(p["kind"], p["id"]) for p in bench.run()["pending"]] == [("attempt", attempt.attempt_id)]
    bench.wait("receiver", bench.filled.operation_id)
    run = bench.run()
    assert [(p["kind"], p["id"]) for p in run["pending"]] == [("attempt", bench.filled.operation_id)]
    assert run["uncertain"] == [bench.filled.operation_id]


def test_how_far_a_sender_came_is_known_only_when_it_recorded_its_end(bench: Bench) -> None:
    bench.approve()
    attempt = bench.filled.in_flight()
    (under_way,) = bench.operation()["attempts"]
    assert (under_way["sent"], under_way["reached"]) == ("maybe", None)
    bench.filled.answered(attempt, status=None)
    (over,) = bench.operation()["attempts"]
    assert (over["sent"], over["reached"]) == ("maybe", "request")


@pytest.mark.parametrize(
    ("reason", "code", "words"),
    [
        (ParkReason.BUDGET_ATTEMPTS, "raise_budget", ["runs", "resume", "run-1", "--raise", "attempts=10"]),
        (ParkReason.BUDGET_ELAPSED, "raise_budget", ["runs", "resume", "run-1", "--raise", "elapsed=345600"]),
        (ParkReason.BUDGET_SPEND, "raise_budget", ["runs", "resume", "run-1", "--raise", "spend=6"]),
        (ParkReason.REVIEW_EXPIRED, "resume", ["runs", "resume", "run-1"]),
        (ParkReason.REVIEW_REJECTED, "resume", ["runs", "resume", "run-1"]),
        (ParkReason.EXPIRED, "resume", ["runs", "resume", "run-1"]),
        (ParkReason.POISONED, "resume", ["runs", "resume", "run-1"]),
        (ParkReason.NO_PROGRESS, "resume", ["runs", "resume", "run-1"]),
        (ParkReason.STEP_FAILED, "retry", ["runs", "retry", "run-1"]),
        (ParkReason.CODE_CHANGED, "cancel_or_old_version", ["runs", "cancel", "run-1"]),
        (ParkReason.CLOCK_JUMP, "check_clock", ["doctor"]),
        (ParkReason.NO_WORKER, "start_worker", ["worker"]),
    ],
)
def test_each_park_reason_leads_to_its_command(bench: Bench, reason: ParkReason, code: str, words: list[str]) -> None:
    bench.filled.submitted().claimed()
    bench.filled.parked(reason)
    following = bench.run()["next_action"]
    assert (following["code"], command(following, bench)) == (code, words)
    assert following["who"] == {"kind": "operator", "name": "ops"}
    assert following["deadline_at"] == rfc3339(START + 24 * HOUR)


def test_the_printed_raise_is_one_that_the_verb_takes(bench: Bench) -> None:
    bench.filled.submitted().claimed()
    for reason in (ParkReason.BUDGET_ATTEMPTS, ParkReason.BUDGET_ELAPSED, ParkReason.BUDGET_SPEND):
        bench.filled.parked(reason)
        kind, _, amount = command(bench.run()["next_action"], bench)[-1].partition("=")
        moved = asyncio.run(bench.runs.resume("run-1", raises={kind: amount}))
        assert moved["state"] == "pending"
        bench.filled.claimed()
    limits = {row["kind"]: row["limit"] for row in bench.run()["budgets"]}
    assert limits == {"attempts": 10, "elapsed": 345600, "spend": "6"}


def test_a_stop_leads_to_what_lifts_it(bench: Bench) -> None:
    bench.approve()
    bench.filled.ask(SuspendWrites(bench.filled.opened.installation_id, "receiver:bank", "ana", "fire"))
    bench.filled.parked(ParkReason.WRITES_SUSPENDED)
    for following in (bench.run()["next_action"], bench.operation()["next_action"]):
        assert command(following, bench) == ["writes", "resume", "--receiver", "bank", "--by", "ana"]
    with bench.filled.opened.read() as reader:
        verb = begin_restore(reader, "moved")
    bench.filled.ask(verb)
    assert command(bench.operation()["next_action"], bench) == ["restore", "finish", "--as", "moved", "--by", "ana"]


def test_a_doubt_leads_to_somebody_who_did_not_approve_it(bench: Bench) -> None:
    bench.approve(by="ana")
    bench.filled.answered(bench.filled.in_flight(), status=None)
    bench.filled.clock.now += 30 * HOUR  # the key's window is over
    operation = bench.filled.advanced()
    assert operation.reason == ParkReason.OUTCOME_UNKNOWN
    bench.filled.parked(ParkReason.OUTCOME_UNKNOWN)
    run, shown = bench.run(), bench.operation()
    for following in (run["next_action"], shown["next_action"]):
        assert following["code"] == "resolve"
        assert command(following, bench) == [
            "operations", "resolve", "op-1", "--as", "succeeded", "--expect-version", str(operation.version), "--by", "oscar",
        ]  # fmt: skip
    assert run["uncertain"] == [operation.operation_id]
    assert shown["case"]["letter"] == "Z"
    assert shown["status"] == "unknown"
    assert shown["contract"] == {
        "digest": KEYED.digest(), "kind": "key", "window_ends_at": rfc3339(START + 24 * HOUR), "lookup": None,
        "procedure": "Ask the payment desk.",
    }  # fmt: skip
    assert shown["idempotency_key"] == f"{operation.operation_id}-0"
    assert shown["business_key"] == shown["approval"]["scope"]["business_key"] == "R-7"


def test_duplicates_lead_to_their_incident(bench: Bench) -> None:
    bench.approve()
    filled = bench.filled
    filled.answered(filled.in_flight(), status=None)
    found = [{"reference": name, "digest": None, "receipt": {"reference": name}} for name in ("a", "b")]
    filled.ask(RecordLookup(filled.run_id, filled.target(), filled.clock.now, 1, found, True, None))
    filled.parked(ParkReason.DUPLICATE_FOUND)
    (incident,) = bench.incidents.list(open_only=True)["items"]
    assert incident["operation_id"] == filled.operation_id
    for following in (bench.run()["next_action"], bench.operation()["next_action"], incident["next_action"]):
        assert command(following, bench)[:3] == ["incidents", "close", "inc-1"]


def test_a_held_operation_is_refused_by_the_printed_command(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    first = filled.prepared()
    other = Filled(filled.opened, filled.clock, request_id="r-2").submitted().claimed()
    payload = {"number": "R-7", "amount": 999}
    proposed = other.proposed(payload)
    held = other.prepare(proposed, payload)
    assert held.reason == ParkReason.BUSINESS_KEY_CONFLICT
    other.parked(ParkReason.BUSINESS_KEY_CONFLICT)
    following = bench.runs.show(other.run_id)["next_action"]
    assert command(following, bench)[:4] == ["operations", "resolve", f"op-{held.number}", "--as"]
    assert command(following, bench)[4] == "failed"  # never sent: refusing it can do no harm
    assert bench.operations.show(first.operation_id)["next_action"]["code"] == "send"


def test_a_failed_run_may_be_retried(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    failure = {"type": "ValueError", "message": "no"}
    filled.ask(Finish(filled.run_id, filled.fence, RunState.FAILED, None, failure, None, ()))
    run = bench.run()
    assert (run["failure"], command(run["next_action"], bench)) == (failure, ["runs", "retry", "run-1"])


def test_a_run_that_waits_for_a_parked_child_shows_what_moves_the_child(bench: Bench) -> None:
    child = Filled(bench.filled.opened, bench.filled.clock, request_id="r-2").submitted().claimed()
    child.parked(ParkReason.STEP_FAILED)
    bench.filled.submitted().claimed()
    bench.wait("child", child.run_id)
    assert command(bench.run()["next_action"], bench) == ["runs", "retry", "run-1"]


def test_a_stop_that_was_lifted_meanwhile_still_leads_somewhere(bench: Bench) -> None:
    bench.filled.submitted().claimed()
    installation_id = bench.filled.opened.installation_id
    bench.filled.ask(SuspendWrites(installation_id, "all", "ana", "fire"))
    bench.filled.parked(ParkReason.WRITES_SUSPENDED)
    assert command(bench.run()["next_action"], bench)[:3] == ["writes", "resume", "--all"]
    bench.filled.ask(ResumeWrites(installation_id, "all", "ana", "out", runs=()))  # read before this run was parked
    assert bench.run()["next_action"]["code"] == "resume"
