"""The inbox and the audit of one signed-in person: what is not seen is not there, and what is not permitted is not done."""

import asyncio
from collections.abc import Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.desk import Desk
from counterfoil.model.errors import Refused
from counterfoil.model.inbox import InboxFilter
from counterfoil.model.run import ParkReason
from tests.engine.desk_stage import Stage, stage


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def refused(body: Coroutine[Any, Any, Any]) -> str:
    with pytest.raises(Refused) as caught:
        asyncio.run(body)
    return caught.value.code


def elsewhere(on: Stage) -> Desk:
    """Somebody who may read and tend another workflow alone."""
    on.grant("narrow", "read", workflow="hire")
    on.grant("narrow", "tend", workflow="hire")
    return on.app.desk(on.person("pat", "narrow"))


def test_tending_tells_nothing_of_what_is_not_seen(on: Stage) -> None:
    on.proposed()
    other = elsewhere(on).inbox
    for subject in ("rev-1", "run-1", "run_", "rev-9", "1"):
        assert refused(other.take(subject)) == "not_found", subject
        assert refused(other.snooze(subject, until="1h", reason="later")) == "not_found", subject
    digest = on.filled.reviews()[-1].digest
    asyncio.run(on.app.reviews.approve("rev-1", digest=digest, by=on.person("bo", "approver")))
    # It is over: whoever saw it hears that, and nobody else.
    assert refused(other.take("rev-1")) == "not_found"
    assert refused(on.app.desk(on.person("root", "admin")).inbox.take("rev-1")) == "not_waiting"


def test_amount_and_target_are_withheld_from_who_reads_no_payloads(on: Stage) -> None:
    on.proposed()
    on.grant("clerk", "read", workflow="refund", kind="receipts")
    on.grant("clerk", "tend", workflow="refund")
    inbox = on.app.desk(on.person("cleo", "clerk")).inbox
    (item,) = inbox.list()["items"]
    assert (item["target"], item["amount"], item["withheld"]) == (None, None, ["payloads"])
    assert asyncio.run(inbox.take("rev-1"))["withheld"] == ["payloads"]
    assert on.app.desk(on.person("root", "admin")).inbox.list()["items"][0]["withheld"] == []


def test_a_token_tends_and_acts_only_within_its_scope(on: Stage) -> None:
    on.parked(ParkReason.POISONED)
    on.person("root", "admin")
    reads = on.app.desk(on.token("root", verbs=["read"])).inbox
    assert len(reads.list(InboxFilter(reason="poisoned"))["items"]) == 1
    assert refused(reads.take("run-1")) == "not_permitted"
    seen = reads.preview("cancel", InboxFilter(reason="poisoned"))
    told = asyncio.run(
        reads.carry_out("cancel", InboxFilter(reason="poisoned"), count=seen["count"], digest=seen["digest"])
    )
    assert (told["done"], [each["code"] for each in told["refused"]]) == ([], ["not_permitted"])
    cancels = on.app.desk(on.token("root", verbs=["read", "cancel"])).inbox
    told = asyncio.run(cancels.carry_out("cancel", InboxFilter(reason="poisoned"), count=1, reason="not wanted"))
    assert (len(told["done"]), told["refused"]) == (1, [])


def test_many_are_selected_only_among_what_is_seen(on: Stage) -> None:
    on.parked(ParkReason.POISONED)
    assert elsewhere(on).inbox.preview("cancel")["count"] == 0
    assert (
        refused(on.app.desk(on.app.access.in_development("pat")).inbox.carry_out("cancel", count=1))
        == "selection_changed"
    )


def test_the_audit_is_for_who_may_export_it(on: Stage) -> None:
    on.proposed()
    desk = on.app.desk(on.person("root", "admin"))
    asyncio.run(desk.inbox.comment("rev-1", text="hello"))
    assert any(act["what"] == "said: hello" for act in desk.audit.list()["items"])
    assert any("said: hello" in line for line in desk.audit.export())
    for actor in (on.person("bo", "approver"), on.nobody):
        for read in (lambda a=actor: on.app.desk(a).audit.list(), lambda a=actor: on.app.desk(a).audit.export()):
            with pytest.raises(Refused, match="may not"):
                read()
