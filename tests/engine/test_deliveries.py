"""What receivers send by themselves is stored before it is matched, counts once, and never reopens anything."""

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.engine.definitions import Env, SignedBy
from counterfoil.engine.port import Call, Run
from counterfoil.model.contract import Webhook
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.errors import Refused
from counterfoil.model.receipt import Receipt, ReceiptRecord
from counterfoil.model.run import RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.answers import submit
from tests.engine.house import BUDGET, SECRET, House, Order
from tests.engine.messages import STANDARD, body_of, github, standard, stripe
from tests.engine.writes import create_case, writing

SIGNS = {"standard": standard, "stripe": stripe, "github": github}
PAID = Webhook(type="paid", operation="data.metadata.operation", reference="data.id", dedupe="id")
BOUNCED = Webhook(type="bounced", reference="data.id", dedupe="id", means="later")
NOTED = Webhook(type="noted", operation="data.text", dedupe="id")


@pytest.fixture(scope="module")
def crm() -> Iterator[SandboxProcess]:
    """Neither key nor lookup: after a doubt only a person, or the receiver's own message, can tell."""
    with SandboxProcess("none") as process:
        yield process


class Told:
    """A house whose receiver also speaks by itself."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> None:
        monkeypatch.setenv("CRM_WEBHOOK", STANDARD)
        self.house, self.crm, self.sent = House(folder, monkeypatch, crm.url), crm, 0
        self.scheme = "standard"

    def begin(self, *webhooks: Webhook, scheme: Any = "standard") -> "Told":
        self.scheme = scheme
        app = self.house.app
        known = app.registry.receivers["crm"]
        app.registry.receivers["crm"] = replace(known, webhook=SignedBy(scheme, Env("CRM_WEBHOOK")))
        operation = create_case(app, "none")
        told = replace(operation.contract, receipts=webhooks or (PAID, BOUNCED, NOTED))
        app.registry.operations[operation.name] = operation = replace(operation, contract=told)
        self.workflow = writing(app, operation)
        self.house.found()
        return self

    # ------------------------------------------------------------------ what happens

    async def written(self, number: str, *, fault: str | None = None) -> str:
        """A run that wrote, or that was left in doubt by this fault. Its id."""
        if fault is not None:
            self.crm.fault(fault)
        run_id = await submit(self.house, self.workflow, Order(number=number), f"r-{number}")
        if fault is None:
            await self.house.state(run_id, "completed")
            return run_id

        def tried(run: RunRecord) -> bool:
            found = self.house.operations(run_id)
            return run.state.value in ("waiting", "parked") and bool(found) and found[0].attempts == 1

        await self.house.until(run_id, tried)
        if self.house.run(run_id).state.value == "waiting":
            self.house.clock.advance(2)
        await self.house.state(run_id, "parked", "failed")
        return run_id

    async def says(self, type: str, operation: str = "", reference: str = "ch_1", **parts: Any) -> DeliveryRecord:
        """A genuine message, stored."""
        self.sent += 1
        data = {"id": reference, "metadata": {"operation": operation}, "text": f"done <!-- {operation} -->"}
        said = {"type": type, "id": f"evt_{self.sent}", "data": data} | parts
        body = body_of(said)
        headers = SIGNS[self.scheme](
            body, self.house.clock.now_us(), **({"id": said["id"]} if self.scheme != "stripe" else {})
        )
        stored, _ = await self.house.app.receipts.take("crm", headers, body)
        return stored

    async def told(self, type: str, operation: str = "", reference: str = "ch_1", **parts: Any) -> dict[str, Any]:
        """A genuine message, stored and matched."""
        return await self.house.app.receipts.match((await self.says(type, operation, reference, **parts)).delivery_id)

    async def duties(self) -> None:
        only = [duty for duty in DUTIES if duty.name == "deliveries"]
        await Rounds(self.house.app, only).once()

    # ------------------------------------------------------------------ what is there

    def operation(self, run_id: str) -> Any:
        (found,) = self.house.operations(run_id)
        return found

    def receipts(self, run_id: str) -> list[ReceiptRecord]:
        with self.house.app.open().read() as reader:
            return reader.find(ReceiptRecord, "run_id", run_id)

    def incidents(self) -> list[dict[str, Any]]:
        return self.house.app.incidents.list(open_only=True)["items"]


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> Iterator[Told]:
    made = Told(tmp_path, monkeypatch, crm)
    yield made
    if made.house.app._opened is not None:  # pyright: ignore[reportPrivateUsage]
        made.house.clean()
    made.house.app.close()


@pytest.mark.parametrize("scheme", SIGNS)
def test_a_message_closes_a_doubt_by_the_recovery_table(told: Told, scheme: str) -> None:
    async def story() -> None:
        told.begin(scheme=scheme)
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
            operation = told.operation(run_id)
            assert operation.status.value == "unknown"
            delivery = await told.told("paid", operation.operation_id, "ch_7")
            await told.house.state(run_id, "completed")
        assert (delivery["state"], delivery["operation_id"]) == ("matched", operation.operation_id)
        closed = told.operation(run_id)
        assert (closed.status.value, closed.case_letter) == ("succeeded", "E")
        (receipt,) = told.receipts(run_id)
        assert (receipt.how, receipt.reference, receipt.proves) == ("webhook", "ch_7", "first_result")
        assert told.house.run(run_id).result is not None and "ch_7" in str(told.house.run(run_id).result)

    asyncio.run(story())


def test_a_crash_between_store_and_match_is_made_good_by_a_duty(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
        await told.says("paid", told.operation(run_id).operation_id)
        assert told.operation(run_id).status.value == "unknown"
        await told.duties()
        assert told.operation(run_id).status.value == "succeeded"

    asyncio.run(story())


def test_the_same_message_counts_once_however_it_comes_again(told: Told) -> None:
    async def story() -> None:
        told.begin(scheme="github")
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
        body = body_of(
            {
                "type": "paid",
                "id": "e",
                "data": {"id": "c", "metadata": {"operation": told.operation(run_id).operation_id}},
            }
        )
        take = told.house.app.receipts.take
        first, new = await take("crm", github(body), body)
        await told.house.app.receipts.match(first.delivery_id)
        # Neither the id in its header nor a time is signed: whoever replays it under another id says nothing new.
        again, newer = await take("crm", github(body, id="another"), body)
        assert (new, newer, again.delivery_id, again.seen) == (True, False, first.delivery_id, 2)
        await asyncio.gather(*(told.house.app.receipts.match(first.delivery_id) for _ in range(3)))
        assert len(told.receipts(run_id)) == 1

    asyncio.run(story())


def test_the_same_id_with_other_bytes_is_the_same_message(told: Told) -> None:
    async def story() -> None:
        told.begin(scheme="stripe")
        first = await told.says("paid", id="evt_same")
        again = await told.says("paid", id="evt_same", pending_webhooks=0)
        assert (again.delivery_id, again.seen) == (first.delivery_id, 2)

    asyncio.run(story())


def test_what_becomes_of_a_success_later_never_reopens_it(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            run_id = await told.written("1")
            reference = told.receipts(run_id)[0].reference
            told.house.clock.advance(1)
            bounced = await told.told("bounced", reference=reference)
            told.house.clock.advance(1)
            paid = await told.told("paid", told.operation(run_id).operation_id, reference)
        assert (bounced["later"], paid["later"]) == (True, True)
        operation = told.operation(run_id)
        assert operation.status.value == "succeeded" and told.incidents() == []
        shown = told.house.app.operations.show(operation.operation_id)
        assert [(r["how"], r["proves"]) for r in shown["receipts"]] == [
            ("reply", "first_result"), ("webhook", "current_state"), ("webhook", "first_result"),
        ]  # fmt: skip
        assert operation.receipt_id == shown["receipts"][0]["receipt_id"]

    asyncio.run(story())


def test_two_messages_that_name_two_records_are_an_incident(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            run_id = await told.written("1")
            reference = told.receipts(run_id)[0].reference
            await told.told("paid", told.operation(run_id).operation_id, reference)
            assert told.incidents() == []
            await told.told("paid", told.operation(run_id).operation_id, "another record")
        (incident,) = told.incidents()
        assert incident["operation_id"] == told.operation(run_id).operation_id
        assert told.operation(run_id).status.value == "succeeded"

    asyncio.run(story())


def test_a_message_against_what_was_refused_is_an_incident(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            told.crm.fault("refuse")
            run_id = await submit(told.house, told.workflow, Order(number="1"), "r")
            await told.house.state(run_id, "parked", "failed")
            assert told.operation(run_id).status.value == "failed"
            await told.told("paid", told.operation(run_id).operation_id)
        assert told.operation(run_id).status.value == "failed" and len(told.incidents()) == 1

    asyncio.run(story())


def test_a_message_before_our_own_reply(told: Told) -> None:
    """The attempt is live, and hears its answer only after the message was ruled on."""

    async def story() -> None:
        told.begin()
        answered, let_go = asyncio.Event(), asyncio.Event()

        async def create_case(call: Call, order: Order) -> Receipt:
            reply = await call.http.post("/cases", json=order.model_dump())
            answered.set()
            await let_go.wait()
            return Receipt(reference=reply.json()["id"])

        known = told.house.app.registry.operations
        known["create_case"] = replace(known["create_case"], function=create_case)
        workflow = writing_with(told, known["create_case"])
        async with told.house.working():
            run_id = await submit(told.house, workflow, Order(number="1"), "r")
            await asyncio.wait_for(answered.wait(), 20)
            assert told.operation(run_id).status.value == "in_flight"
            await told.told("paid", told.operation(run_id).operation_id, str(told.crm.records()[-1]["id"]))
            assert told.operation(run_id).status.value == "succeeded"
            told.house.clock.advance(1)
            let_go.set()
            await told.house.state(run_id, "completed")
        assert [r.how for r in told.receipts(run_id)] == ["webhook", "reply"] and told.incidents() == []

    asyncio.run(story())


def test_a_message_by_reference_alone_waits_for_our_reply(told: Told) -> None:
    async def story() -> None:
        told.begin()
        early = await told.told("bounced", reference="case-1")
        assert early["state"] == "orphan"
        async with told.house.working():
            run_id = await told.written("1")
        reference = told.receipts(run_id)[0].reference
        late = await told.told("bounced", reference=reference)
        assert late["operation_id"] == told.operation(run_id).operation_id
        # The early one is tried again by itself, ever more rarely.
        told.house.clock.advance(61)
        await told.duties()
        again = told.house.app.receipts.show(early["delivery_id"])
        assert (again["state"], again["tries"]) == ("orphan", 2)

    asyncio.run(story())


def test_a_marker_in_a_text_is_ours_and_another_receivers_word_is_not(told: Told) -> None:
    async def story() -> None:
        told.begin()
        app = told.house.app
        app.receiver("bank", url="", environment="test", webhook=SignedBy("github", Env("CRM_WEBHOOK")))

        async def pay(call: Call, order: Order) -> Receipt:
            raise AssertionError("never sent here")

        contract = replace(app.registry.operations["create_case"].contract, receipts=[NOTED])
        app.operation(receiver="bank", contract=contract, business_key="number", owner="lead")(pay)
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
        operation = told.operation(run_id)
        body = body_of({"type": "noted", "id": "e", "data": {"text": f"({operation.operation_id})"}})
        foreign, _ = await app.receipts.take("bank", github(body), body)
        assert (await app.receipts.match(foreign.delivery_id))["state"] == "orphan"
        assert told.operation(run_id).status.value == "unknown"
        assert (await told.told("noted", operation.operation_id))["operation_id"] == operation.operation_id
        assert told.operation(run_id).status.value == "succeeded"

    asyncio.run(story())


def test_an_orphan_is_shown_until_a_person_has_weighed_it(told: Told) -> None:
    async def story() -> None:
        told.begin()
        receipts = told.house.app.receipts
        orphan = await told.told("paid", "op_" + "0" * 23)
        other = await told.told("unheard of")
        assert (orphan["state"], other["state"]) == ("orphan", "other")
        assert [each["number"] for each in receipts.list(orphans=True)["items"]] == [orphan["number"]]
        assert orphan["next_action"]["command"].startswith(f"counterfoil receipts close dlv-{orphan['number']}")
        with pytest.raises(Refused, match="not_permitted"):
            await receipts.close(orphan["delivery_id"], by="ana", secret=SECRET, reason="a test of theirs")
        closed = await receipts.close(f"dlv-{orphan['number']}", by="root", secret=SECRET, reason="a test of theirs")
        assert closed["closed_by"] == "root" and receipts.list(orphans=True)["items"] == []
        with pytest.raises(Refused, match="not_orphan"):
            await receipts.close(other["delivery_id"], by="root", secret=SECRET, reason="again")
        told.house.clock.advance(86_400)
        await told.duties()
        assert receipts.show(orphan["delivery_id"])["tries"] == orphan["tries"], "nobody looks for it any more"

    asyncio.run(story())


def test_a_long_message_lies_beside_the_database(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
        delivery = await told.told("paid", told.operation(run_id).operation_id, filler="x" * 100_000)
        assert delivery["state"] == "matched" and len(delivery["body"]["filler"]) == 100_000
        assert told.house.app.doctor()["checks"]
        from counterfoil.app.doctor_artifacts import named_artifacts

        with told.house.app.open().read() as reader:
            assert delivery["body_digest"] in named_artifacts(reader)

    asyncio.run(story())


def test_while_sending_is_stopped_evidence_still_counts(told: Told) -> None:
    async def story() -> None:
        told.begin()
        async with told.house.working():
            run_id = await told.written("1", fault="drop-reply")
            await told.house.app.writes.suspend(by="root", reason="an audit", all_=True)
            await told.told("paid", told.operation(run_id).operation_id)
            await told.house.state(run_id, "completed")
        assert told.operation(run_id).status.value == "succeeded"

    asyncio.run(story())


def writing_with(told: Told, operation: Any) -> Any:
    """Another version of the workflow over this operation."""

    async def writing(run: Run, order: Order) -> Receipt:
        return await run.perform(operation, order)

    return told.house.app.workflow(version=2, budget=BUDGET)(writing)
