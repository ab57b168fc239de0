"""The inbox: what needs a person, in order, by filter; and tending."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.audit import Audit, AuditFilter
from counterfoil.app.inbox import Inbox
from counterfoil.app.incidents import Incidents
from counterfoil.app.people import People
from counterfoil.app.reviews import Reviews
from counterfoil.app.runs import Runs
from counterfoil.app.verification import verify
from counterfoil.engine.administration import CloseIncident
from counterfoil.engine.escalation import Escalate
from counterfoil.engine.finish import Resume, Suspend
from counterfoil.engine.lookups import RecordLookup
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter
from counterfoil.model.run import ParkReason
from tests.unit.opened_ledger import HOUR, LOOKED_UP, SECOND, SECRETS, START, Filled, SetClock, opened

NO_SECRET = "nobody knows it"


class Desk:
    """The noun over filled runs, and what people do at it."""

    def __init__(self, filled: Filled) -> None:
        self.filled = filled
        self.inbox, self.audit = Inbox(lambda: filled.opened), Audit(lambda: filled.opened)
        self.runs, self.reviews = Runs(lambda: filled.opened), Reviews(lambda: filled.opened)
        self.people, self.incidents = People(lambda: filled.opened), Incidents(lambda: filled.opened)

    def another(self, request_id: str) -> Filled:
        """One more run over the same ledger."""
        return Filled(self.filled.opened, self.filled.clock, self.filled.contract, request_id)

    def items(self, **wanted: Any) -> list[dict[str, Any]]:
        return self.inbox.list(InboxFilter(**wanted))["items"]

    def names(self, **wanted: Any) -> list[str]:
        return [f"{item['kind']}-{item['number']} {item['reason']}" for item in self.items(**wanted)]

    def do(self, verb: str, subject: str, by: str = "ana", **more: Any) -> dict[str, Any]:
        return asyncio.run(getattr(self.inbox, verb)(subject, by=by, secret=SECRETS.get(by, NO_SECRET), **more))

    def refused(self, body: Coroutine[Any, Any, Any]) -> str:
        with pytest.raises(Refused) as caught:
            asyncio.run(body)
        return caught.value.code

    def code(self, verb: str, subject: str, by: str = "ana", **more: Any) -> str:
        return self.refused(getattr(self.inbox, verb)(subject, by=by, secret=SECRETS.get(by, NO_SECRET), **more))

    def asked(self, filled: Filled) -> Filled:
        """The run waits for its review, as a driven run would."""
        filled.submitted().claimed()
        filled.prepare(
            filled.proposed({"number": filled.request_id, "amount": 120}), {"number": filled.request_id, "amount": 120}
        )
        review = filled.asked()
        waits = [
            {"kind": "review", "id": review.review_id, "since_at": review.opened_at, "deadline_at": review.expires_at}
        ]
        verb = Suspend(
            filled.run_id,
            filled.fence,
            filled.run().sequence,
            waits,
            "review",
            "waits",
            None,
            review.expires_at,
            "ops",
            "head",
        )
        assert filled.ask(verb)
        return filled

    def parked(self, filled: Filled, reason: ParkReason = ParkReason.POISONED) -> Filled:
        filled.submitted().claimed().parked(reason)
        return filled


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=LOOKED_UP) as here:
        made = Desk(Filled(here, clock, LOOKED_UP))
        yield made
        report = verify(lambda: here)
        assert report["sound"], report


def test_nothing_waits_in_an_empty_ledger(desk: Desk) -> None:
    assert desk.inbox.list() == {"items": [], "next_cursor": None}
    assert desk.inbox.counts() == {"total": 0, "overdue": 0, "snoozed": 0, "reasons": []}


def test_a_run_that_waits_for_a_review_and_the_review_are_one(desk: Desk) -> None:
    desk.asked(desk.filled)
    (item,) = desk.items()
    assert (item["kind"], item["reason"], item["run_id"]) == ("review", "review", desk.filled.run_id)
    assert item["sentence"] == item["next_action"]["sentence"] and "approver answers draft 1" in item["sentence"]
    assert item["operation"] == "pay" and item["receiver"] == "bank" and item["workflow"] == "refund"
    desk.filled.clock.now += 9 * HOUR  # the review is over, and no worker has said so
    (late,) = desk.items()
    assert (late["kind"], late["overdue"], late["age_seconds"]) == ("review", True, 9 * 3600)


def test_what_is_parked_stands_with_its_reason_and_in_the_order_of_deadlines(desk: Desk) -> None:
    desk.parked(desk.filled)
    desk.filled.clock.now += 1
    desk.asked(desk.another("r-2"))
    desk.parked(desk.another("r-3"), ParkReason.EXPIRED)
    assert desk.names() == ["review-1 review", "run-1 poisoned", "run-3 expired"]
    assert [item["owner"] for item in desk.items()] == ["ops", "ops", "ops"]
    assert desk.items()[1]["next_action"]["command"].startswith("counterfoil runs resume run-1")


@pytest.mark.parametrize(
    ("state", "reason"), [("pending", "no_worker"), ("running", "no_progress"), ("waiting", "expired")]
)
def test_what_is_overdue_is_computed_when_no_worker_lives(desk: Desk, state: str, reason: str) -> None:
    filled = desk.filled.submitted()
    if state != "pending":
        filled.claimed()
    if state == "waiting":
        waits = [{"kind": "signal", "id": "go", "since_at": START, "deadline_at": START + HOUR}]
        verb = Suspend(
            filled.run_id,
            filled.fence,
            filled.run().sequence,
            waits,
            "signal",
            "waits",
            START + HOUR,
            START + HOUR,
            "ops",
            "head",
        )
        assert filled.ask(verb)
    assert desk.items() == []
    desk.filled.clock.now += 2 * HOUR
    (item,) = desk.items()
    assert (item["kind"], item["reason"], item["overdue"]) == ("run", reason, True)
    assert item["since_at"] == item["deadline_at"]
    if state == "waiting":
        assert "signals send" in item["next_action"]["command"]
    assert desk.code("snooze", "run-1", until="1h", reason="later") == "snooze_too_long"


def doubted(desk: Desk) -> Filled:
    """A payment of which nobody knows whether it arrived."""
    filled = desk.filled.submitted().claimed()
    filled.prepared()
    review = filled.asked()
    asyncio.run(desk.reviews.approve("rev-1", digest=review.digest, by="ana", secret=SECRETS["ana"]))
    filled.answered(filled.in_flight(), status=None)
    return filled


def test_an_incident_and_the_run_that_it_parks_are_one(desk: Desk) -> None:
    filled = doubted(desk)
    filled.clock.now += 60 * SECOND
    found = [
        {"reference": name, "digest": filled.operation().payload_digest, "receipt": {"reference": name}}
        for name in "ab"
    ]
    filled.ask(RecordLookup(filled.run_id, filled.target(), filled.clock.now, 1, found, True, None))
    assert desk.names() == ["incident-1 incident"]
    filled.parked(ParkReason.DUPLICATE_FOUND)
    assert desk.names() == ["incident-1 incident"]
    (item,) = desk.items()
    assert item["next_action"]["command"].startswith("counterfoil incidents close inc-1")
    assert item["since_at"] < item["deadline_at"] and not item["overdue"]
    desk.do("take", "inc-1", "oscar")
    incident = desk.incidents.list()["items"][0]
    filled.ask(CloseIncident(filled.run_id, incident["incident_id"], filled.operation_id, "oscar", "weighed"))
    assert desk.code("take", "inc-1") == "not_waiting"


def test_filters(desk: Desk) -> None:
    desk.asked(desk.filled)
    desk.parked(desk.another("r-2"))
    assert len(desk.items()) == 2
    assert desk.names(reason="poisoned") == ["run-2 poisoned"]
    assert desk.names(reason="review") == ["review-1 review"]
    assert desk.names(reason="renewal") == []
    assert desk.names(receiver="bank") == ["review-1 review"]
    assert desk.names(receiver="shop") == desk.names(workflow="onboard") == desk.names(owner="nobody") == []
    assert len(desk.names(workflow="refund", owner="ops")) == 2
    assert desk.names(text="R-1") == ["review-1 review"]  # the business key and the request id
    assert desk.names(text="run-2") == ["run-2 poisoned"]
    assert desk.names(text="rev-1") == ["review-1 review"]
    assert desk.names(text="100%") == []


def test_mine_is_what_is_asked_of_my_roles_and_nobody_else_has(desk: Desk) -> None:
    desk.asked(desk.filled)
    desk.parked(desk.another("r-2"))
    assert len(desk.names(mine="ana")) == 2
    assert desk.names(mine="eve") == []
    desk.do("take", "rev-1", "oscar")
    assert desk.names(mine="ana") == ["run-2 poisoned"]
    assert len(desk.names(mine="oscar")) == 2
    with pytest.raises(Refused, match="nobody"):
        desk.items(mine="nobody")


def test_counts_by_reason_keep_the_other_filters(desk: Desk) -> None:
    for number in range(3):
        desk.parked(desk.another(f"p-{number}"))
    desk.asked(desk.filled)
    desk.do("snooze", "run-1", until="1h", reason="bank holiday")
    reasons = [{"reason": "poisoned", "count": 2, "overdue": 0}, {"reason": "review", "count": 1, "overdue": 0}]
    assert desk.inbox.counts() == {"total": 3, "overdue": 0, "snoozed": 1, "reasons": reasons}
    assert desk.inbox.counts(InboxFilter(reason="review"))["reasons"] == reasons
    assert desk.inbox.counts(InboxFilter(receiver="bank"))["total"] == 1
    # Where not everything may be seen, each thing is looked at.
    assert desk.inbox.counts(visible=lambda row: row.kind == "run") == {
        "total": 2, "overdue": 0, "snoozed": 1, "reasons": reasons[:1],
    }  # fmt: skip


def test_pages_follow_each_other_by_an_opaque_cursor(desk: Desk) -> None:
    for number in range(7):
        desk.parked(desk.another(f"p-{number}"))  # one deadline for all: the order goes on by id
    seen: list[str] = []
    cursor = None
    for _ in range(4):
        page = desk.inbox.list(cursor=cursor, limit=2)
        seen += [item["subject"] for item in page["items"]]
        cursor = page["next_cursor"]
    assert cursor is None and len(seen) == len(set(seen)) == 7
    assert seen == [item["subject"] for item in desk.items()]
    hidden = set(seen[::2])
    page = desk.inbox.list(limit=2, visible=lambda row: row.subject not in hidden)
    assert [item["subject"] for item in page["items"]] == [seen[1], seen[3]] and page["next_cursor"] is not None
    for wrong in ("", "x", "aGVsbG8", "MTI6", "é"):
        with pytest.raises(Refused, match="no cursor"):
            desk.inbox.list(cursor=wrong)


# ---------------------------------------------------------------------- tending


def test_taken_by_one_and_handed_over(desk: Desk) -> None:
    desk.asked(desk.filled)
    assert desk.do("take", "rev-1", "ana")["taken_by"] == "ana"
    before = desk.filled.run().sequence
    assert desk.do("take", "rev-1", "ana")["taken_by"] == "ana"
    assert desk.filled.run().sequence == before, "what is so already is no entry"
    assert desk.code("take", "rev-1", "oscar") == "taken"
    assert desk.do("hand_over", "rev-1", "oscar", to="oscar")["taken_by"] == "oscar"
    assert desk.do("hand_over", "rev-1", "oscar", to="approver")["taken_by"] == "approver"
    assert desk.names(mine="ana") == ["review-1 review"]
    assert desk.do("take", "rev-1", "ana")["taken_by"] == "ana", "who holds the role takes it from the role"
    assert desk.code("hand_over", "rev-1", "ana", to="nobody") == "unknown_owner"
    assert desk.do("let_go", "rev-1", "oscar")["taken_by"] is None
    assert desk.code("let_go", "rev-1") == "not_tended"


def test_a_run_that_waits_is_named_by_its_number_too(desk: Desk) -> None:
    desk.asked(desk.filled)
    assert desk.do("take", "run-1")["kind"] == "review"
    assert desk.do("take", desk.filled.run_id)["kind"] == "review"
    assert desk.code("take", "run-9") == "not_found"
    assert desk.code("take", "1") == "ambiguous_id"  # run-1 and rev-1


def test_who_may_not_tend(desk: Desk) -> None:
    desk.asked(desk.filled)
    assert desk.refused(desk.inbox.take("rev-1", by="ana", secret="?")) == "wrong_secret"
    assert desk.code("take", "rev-1", "eve") == "role_missing"
    assert desk.inbox.show("rev-1")["taken_by"] is None


def test_what_a_revoked_person_took_is_taken_by_nobody(desk: Desk) -> None:
    desk.asked(desk.filled)
    desk.do("take", "rev-1", "oscar")
    asyncio.run(desk.people.revoke("oscar"))
    assert desk.inbox.show("rev-1")["taken_by"] is None
    assert desk.names(mine="ana") == ["review-1 review"]
    assert desk.code("hand_over", "rev-1", to="oscar") == "unknown_owner"
    assert desk.do("take", "rev-1", "ana")["taken_by"] == "ana"


def test_a_snooze_hides_until_its_end_and_ends_by_itself(desk: Desk) -> None:
    desk.parked(desk.filled)
    item = desk.do("snooze", "run-1", until="2h", reason="the bank opens at nine")
    assert item["snooze_reason"] == "the bank opens at nine" and item["snoozed_until"] is not None
    assert desk.items() == []
    assert desk.names(snoozed=True) == ["run-1 poisoned"]
    desk.filled.clock.now += 2 * HOUR
    (item,) = desk.items()
    assert item["snoozed_until"] is None and item["snooze_reason"] is None
    assert desk.code("snooze", "run-1", until="25h", reason="too long") == "snooze_too_long"
    assert desk.code("snooze", "run-1", until="2020-01-01T00:00:00Z", reason="in the past") == "snooze_too_long"
    assert desk.code("snooze", "run-1", until="2030-01-01T00:00:00", reason="where?") == "usage"
    assert desk.code("snooze", "run-1", until="1h", reason=" ") == "usage"
    desk.do("snooze", "run-1", until=item["deadline_at"], reason="until the very end")
    desk.do("let_go", "run-1", snooze=True)
    assert len(desk.items()) == 1
    assert desk.code("let_go", "run-1", snooze=True) == "not_tended"


def test_tending_holds_for_one_wait_only(desk: Desk) -> None:
    desk.parked(desk.filled)
    desk.do("take", "run-1", "oscar")
    desk.do("snooze", "run-1", until="20h", reason="later")
    assert desk.filled.ask(Escalate(desk.filled.run_id, desk.filled.run_id, START, "head"))
    assert desk.items(snoozed=True)[0]["escalated_to"] == "head" and len(desk.items(owner="head", snoozed=True)) == 1
    desk.filled.clock.now += SECOND
    desk.filled.ask(Resume(desk.filled.run_id, "ana", False, {}, desk.filled.opened.deadlines))
    assert desk.code("take", "run-1") == "not_waiting"
    desk.filled.clock.now += SECOND
    desk.filled.claimed().parked(ParkReason.CODE_CHANGED)
    (item,) = desk.items()  # another trouble must not hide behind the snooze of the first
    assert (item["reason"], item["taken_by"], item["snoozed_until"]) == ("code_changed", None, None)
    assert item["escalated_to"] is None


def test_comments_are_kept_in_order_and_counted(desk: Desk) -> None:
    desk.asked(desk.filled)
    desk.do("comment", "rev-1", "ana", text="Looks <b>odd</b> 👍")
    desk.filled.clock.now += 1
    shown = desk.do("comment", "rev-1", "oscar", text="Asked the customer.")
    assert shown["comments"] == desk.items()[0]["comments"] == 2
    assert [(each["person"], each["text"]) for each in shown["said"]] == [
        ("ana", "Looks <b>odd</b> 👍"), ("oscar", "Asked the customer."),
    ]  # fmt: skip
    assert desk.code("comment", "rev-1", text="  ") == "usage"
    assert desk.code("comment", "rev-1", text="x" * 10_001) == "usage"


# ---------------------------------------------------------------------- who did what


def test_the_audit_names_who_did_what_with_digest_and_place(desk: Desk) -> None:
    desk.asked(desk.filled)
    desk.do("take", "rev-1", "oscar")
    digest = desk.reviews.show("rev-1")["digest"]
    asyncio.run(desk.reviews.approve("rev-1", digest=digest, by="ana", secret=SECRETS["ana"], comment="fine"))
    acts = desk.audit.list()["items"]
    assert [(act["person"], act["verb"], act["what"]) for act in acts] == [
        ("ana", "answer", "approved draft 1: fine"), ("oscar", "tended", "taken"),
    ]  # fmt: skip
    with desk.filled.opened.read() as reader:
        entries = {entry.sequence: entry for entry in reader.entries(desk.filled.run_id)}
    for act in acts:
        assert (
            act["digest"] == f"sha256:{entries[act['sequence']].digest.hex()}" and act["run_id"] == desk.filled.run_id
        )
    assert [act["verb"] for act in desk.audit.list(AuditFilter(person="oscar"))["items"]] == ["tended"]
    assert [act["person"] for act in desk.audit.list(AuditFilter(verb="answer"))["items"]] == ["ana"]
    day = acts[0]["at"][:10]
    assert len(desk.audit.list(AuditFilter(day=day))["items"]) == 2
    assert desk.audit.list(AuditFilter(day="2001-01-01"))["items"] == []
    for wrong in (AuditFilter(verb="step"), AuditFilter(day="yesterday"), AuditFilter(day="20260101")):
        with pytest.raises(Refused):
            desk.audit.list(wrong)


def test_the_audit_page_by_page_and_as_lines(desk: Desk) -> None:
    desk.parked(desk.filled)
    for number in range(5):
        desk.do("comment", "run-1", "ana", text=f"={number}")
    seen: list[int] = []
    cursor = None
    for _ in range(3):
        page = desk.audit.list(cursor=cursor, limit=2)
        seen += [act["ordinal"] for act in page["items"]]
        cursor = page["next_cursor"]
    assert cursor is None and len(seen) == 5 and seen == sorted(seen, reverse=True)
    assert len(list(desk.audit.export())) == 5
    lines = list(desk.audit.export(as_="csv"))
    assert lines[0].startswith("at,person,verb,what,") and len(lines) == 6
    asyncio.run(desk.people.add("=cmd()", roles=["ops"], secret="s"))
    added = list(desk.audit.export(AuditFilter(verb="person"), as_="csv"))[1]
    assert ",person,added =cmd(),'=cmd()," in added
    with pytest.raises(Refused):
        desk.audit.export(as_="xml")  # type: ignore[arg-type] - what a user may type
