"""What the command line calls: people who answer, resolve, stop and let go on, and what is refused to them."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.finding import find
from counterfoil.app.incidents import Incidents
from counterfoil.app.operations import Operations, target_here
from counterfoil.app.people import People
from counterfoil.app.restore import Restore
from counterfoil.app.reviews import Reviews
from counterfoil.app.runs import Runs
from counterfoil.app.signals import Signals
from counterfoil.app.verification import verify
from counterfoil.app.writes import Writes
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.reviews import Answer
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.review import AnswerRecord
from counterfoil.model.run import ParkReason, RunState
from tests.unit.opened_ledger import HOUR, SECRETS, Filled, SetClock, opened

Body = Coroutine[Any, Any, dict[str, Any]]


class Nouns:
    """Every noun over one filled ledger."""

    def __init__(self, filled: Filled) -> None:
        def here() -> Any:
            return filled.opened

        self.filled = filled
        self.here = here
        self.runs, self.operations, self.reviews = Runs(here), Operations(here), Reviews(here)
        self.people, self.signals, self.incidents = People(here), Signals(here), Incidents(here)
        self.writes, self.restore = Writes(here), Restore(here)

    def asked(self) -> str:
        """A run whose operation waits for its review; gives the digest."""
        self.filled.submitted().claimed().prepared()
        return self.filled.asked().digest

    def doubted(self) -> int:
        """An operation that nothing automatic can tell about, approved by ana; gives its version."""
        digest = self.asked()
        review = self.filled.reviews()[-1]
        self.filled.ask(
            Answer(self.filled.run_id, review.review_id, self.filled.operation_id, "ana", True, digest, "", False)
        )
        self.filled.answered(self.filled.in_flight(), status=None)
        self.filled.clock.now += 30 * HOUR
        operation = self.filled.advanced()
        self.filled.parked(ParkReason.OUTCOME_UNKNOWN)
        return operation.version


@pytest.fixture
def nouns(tmp_path: Path) -> Iterator[Nouns]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        made = Nouns(Filled(here, clock))
        yield made
        report = verify(made.here)
        assert report["sound"], report
        assert report["rows_compared"] > 0


def code_of(body: Callable[[], Body]) -> str:
    with pytest.raises(Refused) as caught:
        asyncio.run(body())
    return caught.value.code


# ---------------------------------------------------------------------- reviews


def test_a_second_answer_resolves_to_the_first(nouns: Nouns) -> None:
    digest = nouns.asked()
    first = asyncio.run(nouns.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"]))
    assert (first["state"], first["decided"]) == ("approved", "now")
    again = asyncio.run(nouns.reviews.approve("1", digest=digest, by="oscar", secret=SECRETS["oscar"]))
    assert (again["state"], again["decided"]) == ("approved", "earlier")
    other = code_of(lambda: nouns.reviews.reject("rev-1", digest=digest, by="oscar", secret=SECRETS["oscar"]))
    assert other == "review_closed"
    with nouns.here().read() as reader:
        answers = reader.find(AnswerRecord, "review_id", first["review_id"])
    # Each answer is kept, whatever became of it.
    assert sorted((answer.person, answer.decision, answer.matched) for answer in answers) == [
        ("ana", "approve", "now"), ("oscar", "approve", "earlier"), ("oscar", "reject", "earlier"),
    ]  # fmt: skip


def test_an_answer_about_another_digest_decides_nothing(nouns: Nouns) -> None:
    digest = nouns.asked()
    other = code_of(lambda: nouns.reviews.approve("rev-1", digest="sha256:0", by="ana", secret=SECRETS["ana"]))
    assert other == "digest_mismatch"
    assert nouns.reviews.show("rev-1")["state"] == "open"
    asyncio.run(nouns.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"]))


@pytest.mark.parametrize(
    ("by", "secret", "code"),
    [
        ("ana", "oscar's secret", "wrong_secret"),
        ("eve", "eve's secret", "role_missing"),
        ("nobody", "", "unknown_person"),
    ],
)
def test_who_may_not_answer(nouns: Nouns, by: str, secret: str, code: str) -> None:
    digest = nouns.asked()
    assert code_of(lambda: nouns.reviews.approve("rev-1", digest=digest, by=by, secret=secret)) == code
    assert nouns.reviews.show("rev-1")["state"] == "open"


def test_a_rejection_wakes_its_run_and_asks_for_a_revision(nouns: Nouns) -> None:
    digest = nouns.asked()
    answer = nouns.reviews.reject(
        "rev-1", digest=digest, by="ana", secret=SECRETS["ana"], comment="smaller", ask_revision=True
    )
    assert asyncio.run(answer)["state"] == "rejected"
    shown = nouns.reviews.show("rev-1")
    assert (shown["reviewer"], shown["comment"]) == ("ana", "smaller")


def test_an_approval_is_taken_back_until_the_first_attempt(nouns: Nouns) -> None:
    digest = nouns.asked()
    asyncio.run(nouns.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"]))
    assert code_of(lambda: nouns.reviews.withdraw("rev-1", by="ana", secret="?")) == "wrong_secret"
    taken = asyncio.run(nouns.reviews.withdraw("rev-1", by="oscar", secret=SECRETS["oscar"], comment="wait"))
    assert taken["state"] == "rejected"


def test_an_approval_that_was_used_is_not_taken_back(nouns: Nouns) -> None:
    digest = nouns.asked()
    asyncio.run(nouns.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"]))
    nouns.filled.in_flight()
    assert code_of(lambda: nouns.reviews.withdraw("rev-1", by="ana", secret=SECRETS["ana"])) == "already_sent"


# ---------------------------------------------------------------------- resolving


def resolving(nouns: Nouns, version: int, **changed: Any) -> Callable[[], Body]:
    said: dict[str, Any] = {
        "as_": "succeeded", "by": "oscar", "secret": SECRETS["oscar"], "reason": "It is on the statement.",
        "evidence": b"line 7: R-7 120", "reference": "bank-7", "expect_version": version,
    } | changed  # fmt: skip
    return lambda: nouns.operations.resolve("op-1", **said)


def test_a_person_closes_a_doubt_with_evidence(nouns: Nouns) -> None:
    version = nouns.doubted()
    shown = asyncio.run(resolving(nouns, version)())
    assert (shown["status"], shown["receipts"][0]["how"], shown["receipts"][0]["reference"]) == (
        "succeeded",
        "person",
        "bank-7",
    )
    assert nouns.filled.run().state is RunState.PENDING
    (fact,) = [fact for fact in nouns.runs.show("run-1")["established"] if "resolved" in fact["what"]]
    assert nouns.here().artifacts.read(fact["evidence"]) == b"line 7: R-7 120"


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"expect_version": 1}, "stale_version"),
        ({"by": "ana", "secret": SECRETS["ana"]}, "own_action"),
        ({"by": "eve", "secret": SECRETS["eve"]}, "role_missing"),
        ({"secret": "guessed"}, "wrong_secret"),
        ({"reason": " "}, "usage"),
        ({"evidence": b""}, "usage"),
        ({"reference": None}, "usage"),
        ({"as_": "perhaps"}, "usage"),
        ({"new_key": True}, "usage"),
        ({"as_": "send-again"}, "unsafe_repeat"),
    ],
)
def test_a_resolution_that_is_refused_changes_nothing(nouns: Nouns, changed: dict[str, Any], code: str) -> None:
    version = nouns.doubted()
    before = nouns.filled.operation()
    assert code_of(resolving(nouns, version, **changed)) == code
    assert nouns.filled.operation() == before


def test_a_closed_operation_is_not_resolved(nouns: Nouns) -> None:
    version = nouns.doubted()
    shown = asyncio.run(resolving(nouns, version, as_="failed")())
    assert shown["status"] == "failed"
    assert code_of(resolving(nouns, shown["version"])) == "not_in_doubt"


def test_sending_again_under_a_new_key_is_an_order(nouns: Nouns) -> None:
    version = nouns.doubted()
    shown = asyncio.run(resolving(nouns, version, as_="send-again", new_key=True, reference=None)())
    assert shown["status"] == "unknown"
    assert nouns.filled.run().state is RunState.PENDING


# ---------------------------------------------------------------------- the other nouns


def test_people_come_and_go(nouns: Nouns) -> None:
    added = asyncio.run(nouns.people.add("ines", roles=["approver"], secret="s3cret", stand_in_for="ana"))
    assert (added["roles"], added["stand_in_for"], added["revoked_at"]) == (["approver"], "ana", None)
    assert [person["name"] for person in nouns.people.list()["items"]] == ["ana", "eve", "ines", "oscar"]
    assert asyncio.run(nouns.people.revoke("ines"))["revoked_at"] is not None
    digest = nouns.asked()
    refused = code_of(lambda: nouns.reviews.approve("rev-1", digest=digest, by="ines", secret="s3cret"))
    assert refused == "person_revoked"
    with pytest.raises(Refused, match=r"ines was revoked at 2027-01-15T08:00:00\.000000Z"):
        asyncio.run(nouns.writes.suspend(all_=True, by="ines", reason="fire"))
    for name, secret in ((" ", "x"), ("ida ", "x"), ("ida", "")):
        assert code_of(lambda name=name, secret=secret: nouns.people.add(name, secret=secret)) == "usage"


def test_stopping_takes_a_name_and_letting_go_on_a_secret(nouns: Nouns) -> None:
    assert nouns.writes.status() == {"suspended": False, "restore": None, "items": []}
    stopped = asyncio.run(nouns.writes.suspend(all_=True, by="ana", reason="fire"))
    assert (stopped["scope"], stopped["lifted_at"]) == ("all", None)
    assert nouns.writes.status()["suspended"] is True
    wrong = code_of(lambda: nouns.writes.resume(all_=True, by="ana", secret="?", reason="out"))
    assert wrong == "wrong_secret"
    asyncio.run(nouns.writes.resume(all_=True, by="ana", secret=SECRETS["ana"], reason="out"))
    assert nouns.writes.status()["suspended"] is False
    for where in ({}, {"all_": True, "receiver": "bank"}):
        assert code_of(lambda where=where: nouns.writes.suspend(by="ana", reason="fire", **where)) == "usage"
    assert code_of(lambda: nouns.writes.suspend(operation="op-9", by="ana", reason="fire")) == "not_found"
    assert code_of(lambda: nouns.writes.suspend(all_=True, by="ana", reason=" ")) == "usage"


def test_a_run_parked_for_a_stop_goes_on_when_it_is_lifted(nouns: Nouns) -> None:
    nouns.asked()
    asyncio.run(nouns.writes.suspend(operation="op-1", by="ana", reason="fire"))
    nouns.filled.parked(ParkReason.WRITES_SUSPENDED)
    asyncio.run(nouns.writes.resume(operation="op-1", by="ana", secret=SECRETS["ana"], reason="out"))
    assert nouns.filled.run().state is RunState.PENDING


def test_a_restore_that_a_person_declares(nouns: Nouns) -> None:
    nouns.asked()
    assert (
        code_of(lambda: nouns.restore.finish(as_="restored", by="ana", secret=SECRETS["ana"], reason="x"))
        == "no_restore"
    )
    begun = asyncio.run(nouns.restore.begin(by="ana", reason="Monday's backup"))
    assert (begun["recognised_by"], begun["suspended"], begun["in_doubt"]) == ("ana: Monday's backup", True, 1)
    assert nouns.writes.status()["restore"] == "open"
    nouns.filled.parked(ParkReason.RESTORED)
    for changed, code in (({"as_": "perhaps"}, "usage"), ({"secret": "?"}, "wrong_secret"), ({"reason": ""}, "usage")):
        said = {"as_": "restored", "by": "ana", "secret": SECRETS["ana"], "reason": "It is whole."} | changed
        assert code_of(lambda said=said: nouns.restore.finish(**said)) == code
    ended = asyncio.run(
        nouns.restore.finish(as_="restored", by="ana", secret=SECRETS["ana"], reason="Nobody else sends.")
    )
    assert (ended["state"], ended["suspended"], ended["incarnation"]) == ("finished", False, 1)
    assert nouns.filled.run().state is RunState.PENDING


def test_a_restored_file_is_recognised_and_finished_for_good(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        asyncio.run(Writes(lambda: here).suspend(all_=True, by="ana", reason="fire"))
    kept = (tmp_path / "data" / "ledger.db").read_bytes()
    with opened(tmp_path, clock=clock) as here:
        asyncio.run(Writes(lambda: here).resume(all_=True, by="ana", secret=SECRETS["ana"], reason="out"))
        asyncio.run(Writes(lambda: here).suspend(all_=True, by="ana", reason="again"))
    (tmp_path / "data" / "ledger.db").write_bytes(kept)
    with opened(tmp_path, clock=clock) as here:
        restore = Restore(lambda: here)
        assert (restore.status()["recognised_by"], restore.status()["suspended"]) == ("behind", True)
        asyncio.run(restore.finish(as_="restored", by="ana", secret=SECRETS["ana"], reason="It is Monday's."))
    with opened(tmp_path, clock=clock) as here:
        assert Restore(lambda: here).status()["suspended"] is False


def test_signals_are_stored_once(nouns: Nouns) -> None:
    nouns.filled.submitted()
    sent = asyncio.run(nouns.signals.send("run-1", "paid", {"n": 1}, signal_id="s-1"))
    assert sent["admitted"] == "new"
    assert asyncio.run(nouns.signals.send("run-1", "paid", {"n": 1}, signal_id="s-1"))["admitted"] == "existing"
    conflict = code_of(lambda: nouns.signals.send("run-1", "paid", {"n": 2}, signal_id="s-1"))
    assert conflict == "signal_conflict"
    (listed,) = nouns.signals.list(run="run-1")["items"]
    assert (listed["name"], listed["payload"], listed["taken_by"]) == ("paid", {"n": 1}, None)


def test_incidents_are_closed_with_a_reason_and_a_secret(nouns: Nouns) -> None:
    digest = nouns.asked()
    asyncio.run(nouns.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"]))
    filled = nouns.filled
    filled.answered(filled.in_flight(), status=None)
    found = [{"reference": name, "digest": None, "receipt": {"reference": name}} for name in ("a", "b")]
    filled.ask(RecordLookup(filled.run_id, filled.target(), filled.clock.now, 1, found, True, None))
    for changed, code in (
        ({"reason": ""}, "usage"),
        ({"secret": "?"}, "wrong_secret"),
        ({"by": "ana", "secret": SECRETS["ana"]}, "own_action"),
    ):
        said = {"by": "oscar", "secret": SECRETS["oscar"], "reason": "b was deleted"} | changed
        assert code_of(lambda said=said: nouns.incidents.close("inc-1", **said)) == code
    closed = asyncio.run(nouns.incidents.close("inc-1", by="oscar", secret=SECRETS["oscar"], reason="b was deleted"))
    assert (closed["closed_by"], closed["next_action"]["code"]) == ("oscar", "none")
    assert nouns.incidents.list(open_only=True)["items"] == []


def test_runs_are_moved_only_by_their_own_command(nouns: Nouns) -> None:
    nouns.filled.submitted().claimed()
    for body in (lambda: nouns.runs.resume("run-1"), lambda: nouns.runs.retry("run-1")):
        assert code_of(body) == "not_resumable"
    nouns.filled.parked(ParkReason.BUDGET_ATTEMPTS)
    assert code_of(lambda: nouns.runs.resume("run-1")) == "budget_not_raised"
    for raised in ({"attempts": "many"}, {"attempts": "-1"}, {"luck": "7"}, {"spend": "NaN"}):
        assert code_of(lambda raised=raised: nouns.runs.resume("run-1", raises=raised)) == "usage"
    assert asyncio.run(nouns.runs.resume("run-1", by="ana", raises={"attempts": 9}))["state"] == "pending"
    cancelled = asyncio.run(nouns.runs.cancel("run-1", by="ana", reason="not wanted"))
    assert cancelled["heading"] == "cancelled"


def test_find_says_what_a_text_may_mean(nouns: Nouns) -> None:
    nouns.asked()
    assert [(hit["kind"], hit["matched"]) for hit in find(nouns.here, "r-1")["items"]] == [("run", "request id")]
    assert {hit["kind"] for hit in find(nouns.here, "1")["items"]} == {"run", "operation", "review"}
    assert find(nouns.here, "nothing like it")["items"] == []


def test_verify_of_one_run_counts_that_run(nouns: Nouns) -> None:
    nouns.asked()
    whole, one = verify(nouns.here), verify(nouns.here, run="run-1")
    assert (whole["chains"], one["chains"]) == (2, 1)
    assert 0 < one["entries"] < whole["entries"]
    with pytest.raises(Refused):
        verify(nouns.here, run="run-9")


def test_a_doubt_is_resolved_where_the_code_is_not_loaded(nouns: Nouns) -> None:
    version = nouns.doubted()
    nouns.here().registry.operations.clear()
    shown = asyncio.run(resolving(nouns, version, as_="send-again", new_key=True, reference=None)())
    assert shown["next_action"]["code"] == "reconcile"
    # That it needs a reviewer, and which, is known from its review: 8 hours from the answer on.
    with nouns.here().read() as reader:
        target = target_here(nouns.here(), reader, nouns.filled.operation())
    assert target.review is not None
    assert (target.review["role"], target.review["expires_us"]) == ("approver", 8 * HOUR)
    assert target.scope == "sha256:scope"


def test_operations_are_listed_by_status(nouns: Nouns) -> None:
    nouns.doubted()
    assert [operation["number"] for operation in nouns.operations.list(status="unknown")["items"]] == [1]
    assert nouns.operations.list(status="failed")["items"] == []
    assert nouns.operations.list(receiver="crm")["items"] == []
    for ask in (lambda: nouns.operations.list(status="lost"), lambda: nouns.reviews.list(state="lost")):
        with pytest.raises(Refused) as caught:
            ask()
        assert caught.value.code == "usage"


def test_late_evidence_moves_a_parked_run(nouns: Nouns) -> None:
    nouns.doubted()
    with nouns.here().read() as reader:
        (attempt,) = reader.find(AttemptRecord, "run_id", nouns.filled.run_id)
    nouns.filled.answered(attempt)
    assert nouns.operations.show("op-1")["status"] == "succeeded"
    if nouns.filled.run().state is RunState.PARKED:
        assert asyncio.run(nouns.runs.resume("run-1"))["state"] == "pending"


def test_a_run_is_not_parked_for_a_stop_that_is_over(nouns: Nouns) -> None:
    """Whoever lifted the stop between the ruling and the park could not wake it: the execution asks again instead."""
    nouns.filled.submitted().claimed()
    nouns.filled.parked(ParkReason.WRITES_SUSPENDED)
    assert nouns.runs.show("run-1")["state"] == "running"
