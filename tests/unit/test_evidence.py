"""The record behind what is shown: entries in their chain, the life of an operation, what may be done, what was asked."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.access.actor import Actor
from counterfoil.app.evidence import Evidence
from counterfoil.app.views.difference import payload_difference, payload_fields, text_difference
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.reviews import Answer
from counterfoil.engine.waits import PutDocument
from counterfoil.model.errors import Refused
from counterfoil.model.journal import GENESIS
from counterfoil.model.run import ParkReason
from tests.unit.opened_ledger import HOUR, LOOKED_UP, PAYLOAD, SECOND, SECRETS, Filled, SetClock, opened
from tests.unit.view_bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Bench(Filled(here, clock))


def evidence(bench: Bench) -> Evidence:
    return Evidence(lambda: bench.filled.opened)


def allowed(bench: Bench) -> dict[str, str | None]:
    """Each action with the reason why not."""
    return {a["action"]: a["reason"] for a in evidence(bench).actions("op-1")["items"]}


# ---------------------------------------------------------------------- entries


def test_an_entry_carries_its_place_in_the_chain(bench: Bench) -> None:
    bench.approve()
    shown = [evidence(bench).entry("run-1", n) for n in range(3)]
    assert shown[0]["previous_digest"] == f"sha256:{GENESIS.hex()}"
    assert [entry["previous_digest"] for entry in shown[1:]] == [entry["digest"] for entry in shown[:-1]]
    assert all(entry["links"] for entry in shown)
    with bench.filled.opened.read() as reader:
        stored = reader.entries(bench.filled.run_id)[1]
    header = f"{stored.run_id}\x1f1\x1fstarted\x1f\x1f\x1f{stored.at}\x1e"
    told = hashlib.sha256(bytes.fromhex(shown[0]["digest"][7:]) + header.encode() + stored.body.encode()).hexdigest()
    assert shown[1]["digest"] == f"sha256:{told}"
    assert (shown[1]["actor"], shown[0]["kind"]) == ("wrk_1", "submitted")
    for wrong in (-1, 99):
        with pytest.raises(Refused) as caught:
            evidence(bench).entry("run-1", wrong)
        assert caught.value.code == "not_found"


def test_entries_are_read_by_cursor_without_a_gap(bench: Bench) -> None:
    bench.approve()
    cursor, seen = None, list[int]()
    while True:
        page = evidence(bench).entries("run-1", cursor=cursor, limit=3)
        seen += [entry["sequence"] for entry in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert seen == list(range(bench.filled.run().sequence + 1))


# ---------------------------------------------------------------------- an operation


def test_the_life_names_every_move_with_its_entry(bench: Bench) -> None:
    bench.approve()
    bench.filled.answered(bench.filled.in_flight())
    life = evidence(bench).operation("op-1")["life"]
    assert [(move["before"], move["status"]) for move in life["path"]] == [
        (None, "prepared"), ("prepared", "in_flight"), ("in_flight", "succeeded"),
    ]  # fmt: skip
    for move in life["path"]:
        assert evidence(bench).entry("run-1", move["sequence"])["digest"] == move["digest"]
    assert [state["status"] for state in life["states"] if state["current"]] == ["succeeded"]
    taken = {(move["begins"], move["ends"]) for move in life["moves"] if move["taken"]}
    assert taken == {("prepared", "in_flight"), ("in_flight", "succeeded")}


def test_what_is_allowed_is_what_the_verb_accepts(bench: Bench) -> None:
    filled = bench.filled
    bench.approve()
    assert_as_the_verbs(bench)  # never sent
    attempt = filled.in_flight()
    assert_as_the_verbs(bench)  # live
    filled.clock.now += 31 * SECOND
    assert_as_the_verbs(bench)  # in doubt, key open
    filled.clock.now += 25 * HOUR
    assert_as_the_verbs(bench)  # in doubt, window over
    filled.answered(attempt)
    assert_as_the_verbs(bench)  # closed


def assert_as_the_verbs(bench: Bench) -> None:
    """Each way to resolve is tried, and refused where the view says so: with a reference that nobody could believe."""
    said = {a["action"]: a["allowed"] for a in evidence(bench).actions("op-1")["items"]}
    assert said["send_again_same"] <= said["send_again_new"] == said["resolve_failed"] == said["resolve_succeeded"]
    for action, as_, new_key in (("send_again_same", "send-again", False), ("resolve_failed", "failed", False)):
        if not said[action]:
            with pytest.raises(Refused) as caught:
                resolve(bench, as_, new_key)
            assert caught.value.code in ("not_in_doubt", "attempt_live", "unsafe_repeat")


def resolve(bench: Bench, as_: str, new_key: bool) -> Any:
    return asyncio.run(
        bench.operations.resolve(
            "op-1", as_=as_, by="oscar", secret=SECRETS["oscar"], reason="because", evidence=b"seen", new_key=new_key,
            expect_version=bench.filled.operation().version,
        )
    )  # fmt: skip


def test_an_allowed_way_is_accepted(bench: Bench) -> None:
    bench.approve()
    bench.filled.in_flight()
    bench.filled.clock.now += 31 * SECOND
    assert allowed(bench)["send_again_same"] is None
    assert resolve(bench, "send-again", False)["version"] > 1
    bench.filled.clock.now += 25 * HOUR
    reason = allowed(bench)["send_again_same"]
    assert reason is not None and "window is closed" in reason


def test_a_forbidden_action_says_why_and_who_may_not_is_told(bench: Bench) -> None:
    bench.approve()
    bench.filled.in_flight()
    said = allowed(bench)
    assert said["resolve_failed"] is not None and "An attempt may still be under way" in said["resolve_failed"]
    assert said["withdraw"] is not None and "no longer taken back" in said["withdraw"]
    assert said["cancel_run"] is None
    assert said["lookup"] is not None and "no lookup" in said["lookup"]
    bench.filled.clock.now += 31 * SECOND
    for person, why in (("eve", "no role"), ("oscar", "None"), ("ana", "You approved")):
        shown = evidence(bench).actions("op-1", by=Actor(person, "session"))["items"]
        assert why in next(str(action["reason"]) for action in shown if action["action"] == "resolve_failed")


def test_what_moved_since_a_version_is_told_by_its_entries(bench: Bench) -> None:
    bench.approve()
    seen = bench.filled.operation().version
    bench.filled.clock.now += SECOND
    assert evidence(bench).moved("op-1", seen)["items"] == []
    bench.filled.in_flight()
    (moved,) = evidence(bench).moved("op-1", seen)["items"]
    assert moved["kind"] == "in_flight" and "status" in moved["columns"]
    bench.filled.clock.now += 31 * SECOND
    seen = bench.filled.operation().version
    resolve(bench, "failed", False)
    told = evidence(bench).moved("op-1", seen)["items"]
    assert [entry["kind"] for entry in told] == ["resolved", "closed"] and told[0]["actor"] == "oscar"


def test_who_proposed_is_told_before_the_form(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    operation = filled.prepared()
    review = filled.asked()
    filled.ask(Answer(filled.run_id, review.review_id, filled.operation_id, "ana", False, review.digest, "less", True))
    filled.proposed(PAYLOAD | {"amount": 1}, replaces=operation.operation_id)
    filled.prepare(filled.operation(), PAYLOAD | {"amount": 1})
    number = filled.asked().number
    told = {
        name: evidence(bench).question(f"rev-{number}", by=Actor(name, "session"))["forbidden"]
        for name in ("ana", "oscar", "eve")
    }
    assert told["oscar"] is None
    assert "You proposed this" in str(told["ana"]) and "no role" in str(told["eve"])


def test_a_held_operation_is_refused_or_allowed(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    filled.prepared()
    first = filled.operation_id
    filled.prepare(filled.proposed(PAYLOAD | {"amount": 7}), PAYLOAD | {"amount": 7})
    assert filled.operation_id != first and filled.operation().reason == ParkReason.BUSINESS_KEY_CONFLICT
    said = {a["action"]: a["reason"] for a in evidence(bench).actions(filled.operation_id)["items"]}
    assert said["refuse"] is None and said["allow"] is None and "resolve_failed" not in said


def test_the_contract_in_force_counts_its_window_down(bench: Bench) -> None:
    bench.approve()
    bench.filled.in_flight()
    bench.filled.clock.now += 31 * SECOND
    shown = evidence(bench).operation("op-1")["in_force"]
    assert shown["key"]["state"] == "open" and shown["key"]["repeat_until"] is not None
    assert shown["case"]["letter"] == "R" and shown["procedure"] == "Ask the payment desk."
    bench.filled.clock.now += 25 * HOUR
    shown = evidence(bench).operation("op-1")["in_force"]
    assert shown["key"]["state"] == "closed" and shown["facts"]["key"] == "closed"


def test_the_receivers_records_stand_beside_ours(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=LOOKED_UP) as here:
        bench = Bench(Filled(here, clock, LOOKED_UP))
        bench.approve()
        bench.filled.in_flight()
        clock.now += HOUR
        digest = bench.filled.operation().payload_digest
        found = [
            {"reference": "bank-1", "digest": digest, "receipt": {}},
            {"reference": "bank-2", "digest": "sha256:other"},
        ]
        bench.filled.ask(RecordLookup(bench.filled.run_id, bench.filled.target(), clock.now, 1, found, True, None))
        (asked,) = evidence(bench).operation("op-1")["asked"]
        assert (asked["result"], asked["complete"]) == ("several", True)
        assert [(record["reference"], record["same"]) for record in asked["records"]] == [
            ("bank-1", True),
            ("bank-2", False),
        ]
        assert allowed(bench)["lookup"] is None


# ---------------------------------------------------------------------- a review


def test_a_review_is_read_against_the_version_before_and_the_first(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    operation = filled.prepared()
    for amount in (130, 140):
        review = filled.asked()
        answer = Answer(filled.run_id, review.review_id, filled.operation_id, "ana", False, review.digest, "less", True)
        filled.ask(answer)
        payload = PAYLOAD | {"amount": amount}
        filled.proposed(payload, replaces=operation.operation_id)
        filled.prepare(filled.operation(), payload)
    review = filled.asked()
    shown = evidence(bench).question(f"rev-{review.number}")
    assert [version["version"] for version in shown["versions"]] == [1, 2, 3]
    assert [version["current"] for version in shown["versions"]] == [False, False, True]
    assert shown["versions"][0]["reviews"][0]["comment"] == "less"
    changed = {
        row["field"]: (row["before"], row["after"])
        for row in shown["since_previous"]["rows"]
        if row["what"] == "changed"
    }
    assert changed == {"amount": (130, 140)}
    assert shown["since_first"]["version"] == 1
    assert shown["newer"] is None and evidence(bench).question("rev-1")["newer"] == 3
    assert shown["proposed"]["digest"] == evidence(bench).entry("run-1", shown["proposed"]["sequence"])["digest"]


# ---------------------------------------------------------------------- differences


def test_a_difference_goes_down_to_each_field_and_does_not_mix_kinds() -> None:
    before = {"a": 1, "lines": [{"n": 1}, {"n": 2}], "gone": None, "flag": 1}
    after = {"a": 1, "lines": [{"n": 1}, {"n": 3}, {"n": 4}], "flag": True, "new": []}
    assert [(row["field"], row["what"]) for row in payload_difference(before, after)] == [
        ("a", "same"), ("lines[0].n", "same"), ("lines[1].n", "changed"), ("lines[2].n", "added"), ("flag", "changed"),
        ("new", "added"), ("gone", "removed"),
    ]  # fmt: skip
    assert [row["what"] for row in payload_difference(5, 5)] == ["same"]
    assert [(row["field"], row["what"]) for row in payload_difference(5, "5")] == [("value", "changed")]
    assert payload_fields({"a": {}}, {"a": "target"}) == [{"field": "a", "value": {}, "mark": "target"}]


def test_texts_are_compared_by_line() -> None:
    assert text_difference("one\ntwo\nthree", "one\n2\nthree") == [
        {"what": "same", "line": "one"}, {"what": "removed", "line": "two"}, {"what": "added", "line": "2"},
        {"what": "same", "line": "three"},
    ]  # fmt: skip


def test_a_document_shows_what_each_version_changed(bench: Bench) -> None:
    filled = bench.filled.submitted().claimed()
    for position, body in (("1", "a\nb"), ("2", "a\nc")):
        filled.ask(PutDocument(filled.run_id, filled.fence, position, "notes", body, filled.opened.deadlines, {}))
    newest, first = evidence(bench).documents("run-1")["items"]
    assert (newest["version"], newest["before"], newest["newest"]) == (2, 1, True)
    assert {line["what"] for line in newest["lines"]} == {"same", "added", "removed"}
    assert first["lines"] == [] and first["before"] is None
