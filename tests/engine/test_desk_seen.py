"""What a desk shows: nothing of another workflow, not even that it is there, and records only of the kinds that are read."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from counterfoil.app.desk import Desk
from counterfoil.model.access import RecordKind
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter
from counterfoil.model.run import ParkReason
from tests.engine.desk_stage import Stage, outcome, signal, stage, texts


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def code_of(read: Callable[[], Any]) -> str:
    try:
        read()
    except Refused as refused:
        return refused.code
    return "done"


# ---------------------------------------------------------------------- another workflow

Reading = Callable[[Desk], Any]
SHOWN: dict[str, Reading] = {
    "run by number": lambda d: d.runs.show("run-1"),
    "run by the start of an id": lambda d: d.runs.show("run_"),
    "operation": lambda d: d.operations.show("op-1"),
    "review": lambda d: d.reviews.show("rev-1"),
    "entries": lambda d: d.evidence.entries("run-1"),
    "newest": lambda d: d.evidence.newest("run-1"),
    "entry": lambda d: d.evidence.entry("run-1", 0),
    "timeline": lambda d: d.evidence.timeline("run-1"),
    "documents": lambda d: d.evidence.documents("run-1"),
    "operation's evidence": lambda d: d.evidence.operation("op-1"),
    "actions": lambda d: d.evidence.actions("op-1"),
    "moved": lambda d: d.evidence.moved("op-1", 0),
    "acts": lambda d: d.evidence.acts("run-1"),
    "question": lambda d: d.evidence.question("rev-1"),
    "signals of a run": lambda d: d.signals.list(run="run-1"),
    "inbox": lambda d: d.inbox.show("inc-1"),
    "receiver": lambda d: d.receivers.show("bank"),
    "incident": lambda d: d.incidents.show("inc-1"),
}
LISTED: dict[str, Reading] = {
    "runs": lambda d: d.runs.list(),
    "runs of the workflow": lambda d: d.runs.list(workflow="refund", state="pending"),
    "operations": lambda d: d.operations.list(),
    "operations in flight": lambda d: d.operations.list(status="in_flight"),
    "reviews": lambda d: d.reviews.list(),
    "reviews by state": lambda d: d.reviews.list(state="approved"),
    "signals": lambda d: d.signals.list(),
    "incidents": lambda d: d.incidents.list(),
    "open incidents": lambda d: d.incidents.list(open_only=True),
    "inbox": lambda d: d.inbox.list(),
    "find by number": lambda d: d.find("1"),
    "find by request": lambda d: d.find("r-1"),
    "find by key": lambda d: d.find("R-7"),
    "workers": lambda d: d.workers.list(),
    "receivers": lambda d: d.receivers.list(),
}


def filled(on: Stage) -> None:
    """A run with a doubt, two records at the receiver, and a signal."""
    on.contradicted()
    on.filled.opened.writer.ask(signal(on, "paid"))


@pytest.mark.parametrize("how", ["token", "grant", "operation"])
def test_of_another_workflow_nothing_is_there(on: Stage, how: str) -> None:
    filled(on)
    other = elsewhere(on, how)
    whole = on.app.desk(on.person("root", "admin"))
    for name, read in SHOWN.items():
        assert code_of(lambda read=read: read(other)) == "not_found", name
        assert code_of(lambda read=read: read(whole)) == "done", name
    for name, read in LISTED.items():
        page = read(other)
        assert (page["items"], page["next_cursor"]) == ([], None), name
        assert name == "workers" or read(whole)["items"], name
    assert other.inbox.counts()["total"] == 0


def elsewhere(on: Stage, how: str) -> Desk:
    if how == "token":
        on.person("pat", "admin")
        return on.app.desk(on.token("pat", workflows=["hire"]))
    column = {"workflow": "hire"} if how == "grant" else {"operation": "hire"}
    on.grant("narrow", "read", **column)
    on.grant("narrow", "submit", workflow="hire")
    return on.app.desk(on.person("pat", "narrow"))


def test_what_is_hidden_and_what_is_not_there_read_the_same(on: Stage) -> None:
    filled(on)
    other = elsewhere(on, "grant")
    for name, known in (("runs", "run-{}"), ("operations", "op-{}"), ("reviews", "rev-{}"), ("incidents", "inc-{}")):
        noun: Any = getattr(other, name)
        told: list[tuple[str, str]] = []
        for number in (1, 99):
            with pytest.raises(Refused) as refused:
                noun.show(known.format(number))
            told.append((refused.value.code, refused.value.message.replace(str(number), "N")))
        assert told[0] == told[1]


def test_an_unknown_workflow_names_only_those_that_are_seen(on: Stage) -> None:
    desk = elsewhere(on, "grant")
    with pytest.raises(Refused, match="hire") as refused:
        asyncio.run(desk.runs.submit("refund", {"number": "1"}, request_id="r"))
    assert refused.value.code == "unknown_workflow"
    assert "there are: hire." in refused.value.message


# ---------------------------------------------------------------------- one operation's name


def test_who_sees_one_operation_sees_it_and_its_reviews_and_not_the_run(on: Stage) -> None:
    on.doubted()
    on.grant("desk", "resolve", operation="pay")
    desk = on.app.desk(on.person("pat", "desk"))
    assert [each["number"] for each in desk.operations.list()["items"]] == [1]
    assert [each["number"] for each in desk.reviews.list()["items"]] == [1]
    assert desk.operations.show("op-1")["number"] == 1
    assert code_of(lambda: desk.runs.show("run-1")) == "not_found"
    assert desk.runs.list()["items"] == []
    assert [(hit["kind"], hit["number"]) for hit in desk.find("1")["items"]] == [("operation", 1), ("review", 1)]


def test_who_owns_a_run_by_name_sees_it(on: Stage) -> None:
    on.proposed()
    assert code_of(lambda: on.app.desk(on.person("head")).runs.show("run-1")) == "done"
    assert code_of(lambda: on.app.desk(on.person("tail")).runs.show("run-1")) == "not_found"


# ---------------------------------------------------------------------- kinds of records

KIND_OF: dict[RecordKind, Reading] = {
    RecordKind.CONVERSATION: lambda d: d.runs.show("run-1")["records"]["conversation"],
    RecordKind.WORKING_CONTEXT: lambda d: d.runs.show("run-1")["records"]["working_context"],
    RecordKind.DOCUMENTS: lambda d: d.reviews.show("rev-1")["sources"],
    RecordKind.DECISIONS: lambda d: d.evidence.question("rev-1").get("decision", "none was made") or "none was made",
    RecordKind.PAYLOADS: lambda d: d.reviews.show("rev-1")["payload"],
    RecordKind.RECEIPTS: lambda d: d.runs.show("run-1")["records"]["receipts"],
    RecordKind.APPROVALS: lambda d: d.runs.show("run-1")["records"]["approvals"],
}


@pytest.mark.parametrize("kind", RecordKind)
def test_a_kind_that_is_not_read_is_null_and_named(on: Stage, kind: RecordKind) -> None:
    on.doubted()
    for other in RecordKind:
        if other is not kind:
            on.grant("most", "read", kind=other.value)
    desk = on.app.desk(on.person("pat", "most"))
    for other, read in KIND_OF.items():
        if other is not RecordKind.DECISIONS:
            assert (read(desk) is None) is (other is kind), other
    withheld = {kind.value}
    assert set(desk.runs.show("run-1")["withheld"]) <= withheld
    assert set(desk.reviews.show("rev-1")["withheld"]) <= withheld
    assert desk.evidence.entry("run-1", 0)["rows"] is None
    assert desk.evidence.entry("run-1", 0)["withheld"] == [kind.value]


def test_a_payload_that_is_not_read_stands_nowhere(on: Stage) -> None:
    on.contradicted()
    on.filled.opened.writer.ask(signal(on, "paid", secret="120-EUR-secret"))
    for kind in set(RecordKind) - {RecordKind.PAYLOADS, RecordKind.RECEIPTS}:
        on.grant("clerk", "read", kind=kind.value)
    desk = on.app.desk(on.person("pat", "clerk"))
    shown = [read(desk) for name, read in SHOWN.items() if name != "receiver"] + [
        read(desk) for read in LISTED.values()
    ]
    shown += [desk.evidence.entry("run-1", each["sequence"]) for each in desk.evidence.entries("run-1")["items"]]
    # The payload {"number": "R-7", "amount": 120} and what the receiver answered; the business key R-7 names the operation.
    assert '"amount": 120' not in texts(shown)
    assert "120-EUR-secret" not in texts(shown)
    assert '"receipt": {"reference"' not in texts(shown)
    whole = on.app.desk(on.person("root", "admin"))
    assert '"amount": 120' in texts(whole.reviews.show("rev-1"))


def test_a_token_that_is_not_for_reading_reads_no_records(on: Stage) -> None:
    on.doubted()
    on.person("pat", "admin")
    shown = on.app.desk(on.token("pat", verbs=["resume"])).runs.show("run-1")
    assert shown["state"] == "parked"
    assert shown["records"]["receipts"] is None
    assert set(shown["withheld"]) == {kind.value for kind in RecordKind} - {"decisions", "documents"}


# ---------------------------------------------------------------------- amounts, and rights that go


def test_an_answer_is_bounded_by_the_amount(on: Stage) -> None:
    digest = on.proposed()
    on.grant("approver", "answer", up_to_minor=119, currency="EUR")
    desk = on.app.desk(on.person("pat", "approver"))
    before = on.written()
    assert outcome(lambda: desk.reviews.approve("rev-1", digest=digest)) == "not_permitted"  # no amount is marked
    assert on.written() == before
    on.grant("approver", "answer")
    assert outcome(lambda: desk.reviews.approve("rev-1", digest=digest)) == "done"


def test_a_right_that_is_withdrawn_is_gone_at_once(on: Stage) -> None:
    on.parked(ParkReason.NO_PROGRESS)
    granted = asyncio.run(on.app.access.grants.grant("night", "resume", workflow="refund"))
    desk = on.app.desk(on.person("pat", "night"))
    assert desk.runs.show("run-1")["state"] == "parked"
    asyncio.run(on.app.access.grants.withdraw(granted["grant_id"][:12]))
    assert outcome(lambda: desk.runs.resume("run-1")) == "not_found"
    assert desk.runs.list()["items"] == []


def test_the_transaction_asks_again(on: Stage) -> None:
    """Between the desk's look and the commit a right may go: what is stored is decided by the transaction alone."""
    on.parked(ParkReason.NO_PROGRESS)
    pat = on.person("pat", "clerk")
    before = on.written()
    for body in (
        lambda: on.app.runs.resume("run-1", by=pat),
        lambda: on.app.runs.cancel("run-1", by=pat),
        lambda: on.app.runs.submit("refund", {"number": "9"}, request_id="r-9", by=on.nobody),
        lambda: on.app.signals.send("run-1", "paid", {}, signal_id="s", by=on.nobody),
        lambda: on.app.people.add("new", secret="s", by=pat),
        lambda: on.app.people.revoke("ana", by=pat),
        lambda: on.app.writes.suspend(all_=True, reason="x", by=on.nobody),
        lambda: on.app.access.grants.grant("clerk", "administer", by=pat),
        lambda: on.app.access.tokens.create("ana", name="t", expires_in=on.day, by=pat),
    ):
        assert outcome(body) in ("role_missing", "not_permitted")
        assert on.written() == before


def test_who_is_signed_in_and_what_for(on: Stage) -> None:
    root = on.app.desk(on.person("root", "admin")).me()
    assert (root["name"], root["how"], root["workflows"]) == ("root", "development", None)
    assert "administer" in root["acts"]
    pat = on.app.desk(on.token("root", workflows=["hire"])).me()
    assert (pat["how"], pat["workflows"], pat["acts"]) == ("token", ["hire"], [])


def test_a_guess_at_what_is_not_read_is_not_told_to_be_right(on: Stage) -> None:
    """Neither whole, by the search, nor letter by letter, by the text of the inbox."""
    on.contradicted()
    connection = apsw.Connection(str(on.filled.opened.location))
    connection.execute("UPDATE operations SET target = 'IBAN-77'")
    connection.execute("UPDATE receipts SET reference = 'receipt-9'")
    connection.close()
    on.grant("blind", "read", kind="decisions")
    on.grant("blind", "tend")
    for desk, reads in (
        (on.app.desk(on.person("pat", "blind")), False),
        (on.app.desk(on.person("root", "admin")), True),
    ):
        for text in ("iban-7", "N-77"):
            wanted = InboxFilter(text=text)
            assert bool(desk.inbox.list(wanted)["items"]) is reads, text
            assert bool(desk.inbox.counts(wanted)["total"]) is reads, text
            preview = desk.inbox.preview("hand-over", wanted)
            assert bool(preview["count"] + preview["left_out"]) is reads, text
        assert bool(desk.find("IBAN-77")["items"]) is reads
        assert desk.inbox.list(InboxFilter(text="refund"))["items"], "what stands elsewhere finds it as before"


@pytest.mark.parametrize("how", ["token", "grant"])
def test_numbers_over_all_runs_are_for_who_sees_all_runs(on: Stage, how: str) -> None:
    filled(on)
    asyncio.run(on.app.metrics.sample())
    whole, other = on.app.desk(on.person("root", "admin")), elsewhere(on, how)
    assert any(metric["values"] for metric in whole.metrics.list()["items"])
    names = [metric["name"] for metric in whole.metrics.list()["items"]]
    assert any(whole.metrics.history(name, 0)["series"] for name in names)
    assert b"counterfoil_" in whole.metrics.exposed()[0]
    assert not any(metric["values"] for metric in other.metrics.list()["items"])
    assert not any(other.metrics.history(name, 0)["series"] for name in names)
    assert code_of(other.metrics.exposed) == "not_permitted"


def test_a_token_lists_itself_alone(on: Stage) -> None:
    on.person("pat", "admin")
    narrow = on.token("pat", workflows=["hire"])
    on.token("pat", workflows=["refund"])
    items = on.app.desk(narrow).access.tokens.list()["items"]
    assert [each["token_id"] for each in items] == [narrow.proof_id]
    assert len(on.app.desk(on.app.access.in_development("pat")).access.tokens.list()["items"]) == 2
