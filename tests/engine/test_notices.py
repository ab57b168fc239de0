"""Notices: told once to whoever must act, with nothing of the payload; escalated in time; signed; tried again."""

import asyncio
import base64
import json
import threading
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.app.notices import sending, telling
from counterfoil.app.notices.apart import Apart
from counterfoil.app.notices.sending import PAUSES_US
from counterfoil.engine.definitions import Env
from counterfoil.model.duty import NoticeRecord
from counterfoil.model.inbox import InboxFilter
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.people import Owner
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction
from counterfoil.testing.conformance.bench import Act
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import SECRET, House, Order
from tests.engine.listening import Listening, listening
from tests.engine.writes import create_case, writing

KEY = "whsec_" + base64.b64encode(b"k" * 32).decode()
NOTICES = tuple(duty for duty in DUTIES if duty.name == "notices")


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    with listening() as kept:
        monkeypatch.setenv("MANAGER_URL", f"json://127.0.0.1:{kept.port}/manager")
        monkeypatch.setenv("OPS_URL", f"json://127.0.0.1:{kept.port}/ops")
        monkeypatch.setenv("HOOK_URL", f"{kept.url}/hook")
        monkeypatch.setenv("HOOK_SECRET", KEY)
        monkeypatch.setenv("COUNTERFOIL_CONSOLE_URL", "https://console.example/")
        yield kept


def addressed(house: House) -> None:
    house.app.notices.to("manager", Env("MANAGER_URL"))
    house.app.notices.to("ops", Env("OPS_URL"))
    house.app.notices.webhook("desk", Env("HOOK_URL"), secret=Env("HOOK_SECRET"))


async def waiting_review(house: House, number: str = "4711-secret-number") -> str:
    workflow = house.app.registry.workflows.get(("writing", 1)) or writing(
        house.app, create_case(house.app, review=True)
    )
    async with house.working():
        submitted = await house.app.submit(workflow, Order(number=number), request_id=number)
        await house.state(submitted.run_id, "waiting")
    return submitted.run_id


def test_a_review_is_told_once_and_left_when_it_is_answered(
    house_with_crm: House, crm: SandboxProcess, told: Listening
) -> None:
    house = house_with_crm
    addressed(house)

    async def story() -> None:
        house.found()
        run_id = await waiting_review(house)
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        house.clock.advance(16)
        await rounds.once()
        (message,) = told.bodies("/manager")
        assert (
            "waits: rev-1 (writing)" in message["title"]
            and "https://console.example/reviews/rev_" in message["message"]
        )
        assert told.bodies("/ops") == []
        (hook,) = told.bodies("/hook")
        assert (hook["type"], hook["data"]["kind"], hook["data"]["run_id"]) == ("inbox.entered", "review", run_id)
        assert "4711" not in json.dumps([body for _, _, body in told.posts]), "nothing of the payload leaves"
        review = house.app.reviews.list()["items"][0]
        digest = house.app.reviews.show(review["review_id"])["digest"]
        await house.app.reviews.approve(review["review_id"], digest=digest, by="ana", secret=SECRET)
        house.clock.advance(16)
        await rounds.once()
        house.clock.advance(16)
        await rounds.once()
        assert [body["type"] for body in told.bodies("/hook")] == ["inbox.entered", "inbox.left"]
        house.clean()

    asyncio.run(story())


def test_the_second_owner_hears_when_the_first_ones_time_is_over(
    house_with_crm: House, crm: SandboxProcess, told: Listening
) -> None:
    house = house_with_crm
    addressed(house)

    async def story() -> None:
        house.found()
        run_id = await waiting_review(house)
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        house.clock.advance(4 * 3600 + 1)  # the owner had four hours, the review has eight
        await rounds.once()
        (message,) = told.bodies("/ops")
        assert "escalated to you: rev-1" in message["title"]
        assert house.count(run_id, "tended") == 1
        with house.app.open().read() as reader:
            (row,) = reader.inbox.all(InboxFilter(), None, house.clock.now_us())
        assert row.escalated_to == "ops"
        house.clock.advance(3 * 3600)
        await rounds.once()
        titles = [body["title"] for body in (*told.bodies("/manager"), *told.bodies("/ops"))]
        assert sum("nearly over" in title for title in titles) == 2
        assert house.count(run_id, "tended") == 1
        house.clean()

    asyncio.run(story())


def test_a_parked_run_goes_to_its_next_owner_who_hears_of_it(
    house_with_crm: House, crm: SandboxProcess, told: Listening
) -> None:
    house = house_with_crm
    house.app.notices.to("lead", Env("MANAGER_URL"))
    house.app.notices.to("*", Env("OPS_URL"))

    async def story() -> None:
        house.found()
        workflow = writing(house.app, create_case(house.app, "none"))
        crm.fault("drop-reply")
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            if (await house.state(submitted.run_id, "parked", "waiting")).state.value == "waiting":
                house.clock.advance(2)
                await house.state(submitted.run_id, "parked")
        await Rounds(house.app, NOTICES).once()
        (message,) = told.bodies("/manager")
        assert "unknown" in message["message"] and "run-1" in message["title"]
        assert len(told.bodies("/ops")) == 1

    asyncio.run(story())


def test_the_second_owner_hears_of_an_incident_that_was_left_lying(
    house_with_crm: House, crm: SandboxProcess, told: Listening
) -> None:
    house = house_with_crm
    house.app.notices.to("ops", Env("OPS_URL"))

    async def story() -> None:
        house.found()
        workflow = writing(house.app, create_case(house.app))
        async with house.working():
            submitted = await house.app.submit(workflow, Order(number="1"), request_id="r")
            await house.state(submitted.run_id, "completed")
        (operation,) = house.operations(submitted.run_id)
        definition = house.app.registry.operations["create_case"]
        owner = Owner("lead", within=timedelta(hours=2), then="ops")
        house.app.registry.operations["create_case"] = replace(definition, owner=owner)
        incident = IncidentRecord(
            "inc_1", 1, operation.operation_id, submitted.run_id, None, "two", "[]", house.clock.now_us(), None, None, None
        )  # fmt: skip

        def opens(tx: Transaction) -> None:
            tx.put(incident)
            tx.append(submitted.run_id, EntryKind.RULED, name="create_case", data={})

        reads = [Read.key(RunRecord, submitted.run_id), Read.key(IncidentRecord, "inc_1")]
        house.app.open().database.apply([Act(reads, opens, "operation.advanced")])
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        assert told.bodies("/ops") == []
        house.clock.advance(2 * 3600 + 1)
        await rounds.once()
        (message,) = told.bodies("/ops")
        assert "escalated to you: inc-1" in message["title"]
        (item,) = house.app.inbox.list()["items"]
        assert (item["kind"], item["escalated_to"]) == ("incident", "ops")

    asyncio.run(story())


def test_many_things_for_one_person_are_one_message(house_with_crm: House, told: Listening) -> None:
    house = house_with_crm
    addressed(house)

    async def story() -> None:
        house.found()
        for number in range(23):
            await waiting_review(house, str(number))
        await Rounds(house.app, NOTICES).once()
        (message,) = told.bodies("/manager")
        assert "23 things need somebody" in message["title"] and "and 3 more" in message["message"]
        assert message["message"].endswith("https://console.example/inbox")
        assert len(told.bodies("/hook")) == 23

    asyncio.run(story())


def test_a_webhook_is_signed_and_tried_again_under_the_same_id(house_with_crm: House, told: Listening) -> None:
    house = house_with_crm
    house.app.notices.webhook("desk", Env("HOOK_URL"), secret=Env("HOOK_SECRET"))
    told.statuses += [500, 503]

    async def story() -> None:
        house.found()
        await waiting_review(house)
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        house.clock.advance(16)
        await rounds.once()
        house.clock.advance(PAUSES_US[1] // 1_000_000 - 60)
        await rounds.once()
        assert len(told.posts) == 2, "the second pause is not over"
        house.clock.advance(60)
        await rounds.once()
        assert len(told.posts) == 3 and len({headers["webhook-id"] for _, headers, _ in told.posts}) == 1
        for _, headers, body in told.posts:
            mac = Webhook(KEY)
            stamp = int(headers["webhook-timestamp"])
            assert headers["webhook-signature"] == mac.sign(
                headers["webhook-id"], datetime.fromtimestamp(stamp, UTC), body
            )
        _, headers, body = told.posts[0]
        with pytest.raises(WebhookVerificationError):
            Webhook(KEY).verify(body.replace("rev", "run"), {**headers, "webhook-timestamp": "1"})
        with house.app.open().read() as reader:
            (notice,) = reader.rows(NoticeRecord)
        assert (notice.tries, notice.problem, notice.sent_at is not None) == (3, None, True)

    asyncio.run(story())


def test_a_webhook_that_is_gone_is_given_up_and_says_so(house_with_crm: House, told: Listening) -> None:
    house = house_with_crm
    house.app.notices.webhook("desk", Env("HOOK_URL"), secret=Env("HOOK_SECRET"))
    told.statuses += [410]

    async def story() -> None:
        house.found()
        await waiting_review(house)
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        house.clock.advance(10 * 24 * 3600)
        with house.app.open().read() as reader:
            (notice,) = reader.rows(NoticeRecord)
        assert (notice.next_try_at, notice.problem) == (None, "it answered 410")

    asyncio.run(story())


def test_an_address_that_takes_nothing_is_a_problem_that_shows_no_address(
    house: House, told: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MANAGER_URL", "json://user:hunter2@127.0.0.1:1/x")
    addressed(house)

    async def story() -> None:
        house.found()
        await waiting_review(house)
        await Rounds(house.app, NOTICES).once()
        with house.app.open().read() as reader:
            (notice,) = [row for row in reader.rows(NoticeRecord) if row.recipient == "manager"]
        assert notice.problem == "json: it was not taken" and notice.next_try_at is not None

    asyncio.run(story())


def notices_of(house: House) -> list[NoticeRecord]:
    with house.app.open().read() as reader:
        return sorted(reader.rows(NoticeRecord), key=lambda notice: (notice.recipient, notice.channel))


def test_one_who_never_answers_holds_up_nobody(
    house_with_crm: House, crm: SandboxProcess, told: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither a webhook without an answer, nor one whose answer never ends, nor an address that is none, nor a plugin that hangs."""
    house = house_with_crm
    never = threading.Event()
    monkeypatch.setattr(sending, "TIMEOUT_S", 3.0)  # who answers does within that, on a busy machine as well
    house.app.notices.apart = Apart(longest_s=0.3)
    monkeypatch.setattr(sending, "_apprise", lambda *_: never.wait())
    house.app.notices.to("manager", Env("MANAGER_URL"))
    monkeypatch.setenv("SILENT_URL", f"{told.url}/silent")
    monkeypatch.setenv("ENDLESS_URL", f"{told.url}/endless")
    monkeypatch.setenv("BROKEN_URL", "http://127.0.0.1:none/hook")
    for name, variable in (("a", "SILENT_URL"), ("b", "BROKEN_URL"), ("c", "ENDLESS_URL"), ("d", "HOOK_URL")):
        house.app.notices.webhook(name, Env(variable), secret=Env("HOOK_SECRET"))

    async def story() -> None:
        house.found()
        await waiting_review(house)
        rounds = Rounds(house.app, NOTICES)
        async with asyncio.timeout(20):
            await rounds.once()
        found = {notice.recipient: notice for notice in notices_of(house)}
        problems = {name: notice.problem for name, notice in found.items()}
        assert problems == {
            "manager": "TimeoutError", "a": "TimeoutError", "b": "InvalidURL", "c": None, "d": None
        }  # fmt: skip
        assert {notice.tries for notice in found.values()} == {1}
        house.clock.advance(16)
        async with asyncio.timeout(20):
            await rounds.once()
        again = {notice.recipient: notice for notice in notices_of(house)}
        assert again["manager"].problem == "the last message is still under way", "no thread more for each try"
        assert again["a"].tries == 2
        house.clean()

    try:
        asyncio.run(story())
    finally:
        never.set()


def test_who_gives_no_answer_gets_no_more_in_this_round(
    house_with_crm: House, crm: SandboxProcess, told: Listening, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = house_with_crm
    monkeypatch.setattr(sending, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(telling, "BESIDE_EACH_OTHER", 1)
    monkeypatch.setenv("HOOK_URL", f"{told.url}/silent")
    house.app.notices.webhook("desk", Env("HOOK_URL"), secret=Env("HOOK_SECRET"))

    async def story() -> None:
        house.found()
        for number in ("1", "2", "3"):
            await waiting_review(house, number)
        rounds = Rounds(house.app, NOTICES)
        await rounds.once()
        assert sorted(notice.tries for notice in notices_of(house)) == [0, 0, 1]

    asyncio.run(story())
