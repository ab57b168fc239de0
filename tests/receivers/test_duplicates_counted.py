"""A duplicate that was made at a receiver is an incident with the connectors as they are: real servers, and a second record planted."""

import asyncio
import mailbox
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.app import App
from counterfoil.connectors import mail, nats, stripe
from counterfoil.connectors.drilled.mail import Post
from counterfoil.connectors.drilled.nats import WINDOW, Stream
from counterfoil.connectors.drilled.stripe import LocalPayments, Mock
from counterfoil.connectors.serving import PLANTED
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Bearer, Env, Workflow
from counterfoil.engine.port import Run
from counterfoil.model.receipt import Receipt
from counterfoil.testing.fake_clock import FakeClock
from tests.engine.answers import submit
from tests.engine.house import BUDGET, House

Plant = Callable[[Any, str, Any], None]


@dataclass(frozen=True, slots=True)
class Counting:
    """A connector at a real server. `plant(server, operation_id, payload)` makes the second record that bears our id."""

    start: Callable[[Path], Any]
    declare: Callable[[App], tuple[Workflow[Any, Any], Any]]
    plant: Plant


def _refund(app: App) -> tuple[Workflow[Any, Any], Any]:
    app.receiver("stripe", url=Env("STRIPE_URL"), credential=Bearer(Env("STRIPE_KEY")), environment="test")
    operation = stripe.refund(app, owner="lead")

    async def writing(run: Run, asked: stripe.Refund) -> stripe.RefundReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), stripe.Refund


def _payment(app: App) -> tuple[Workflow[Any, Any], Any]:
    app.receiver("stripe", url=Env("STRIPE_URL"), credential=Bearer(Env("STRIPE_KEY")), environment="test")
    operation = stripe.payment_intent(app, owner="lead", overrides={"key": None})

    async def writing(run: Run, asked: stripe.PaymentIntent) -> stripe.PaymentReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), stripe.PaymentIntent


def _message(app: App) -> tuple[Workflow[Any, Any], Any]:
    app.receiver("orders", url=Env("NATS_URL"), environment="test")
    operation = nats.publish(app, receiver="orders", duplicate_window=WINDOW, owner="lead")

    async def writing(run: Run, asked: nats.Message) -> nats.MessageReceipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), nats.Message


def _letter(app: App) -> tuple[Workflow[Any, Any], Any]:
    app.receiver("mail", url=Env("MAIL_URL"), environment="test")
    operation = mail.send(app, sent=mail.Maildir(Env("SENT_MAIL")), owner="lead")

    async def writing(run: Run, asked: mail.Mail) -> Receipt:
        return await run.perform(operation, asked)

    return app.workflow(version=1, budget=BUDGET)(writing), mail.Mail


def _posted(path: str, *fields: str) -> Plant:
    """The same request without our key, as a server makes it that has forgotten the key."""

    def plant(server: Any, operation_id: str, payload: Any) -> None:
        form = {name: str(getattr(payload, name)) for name in fields} | {"metadata[operation]": operation_id}
        made = httpx2.post(f"{server.url}{path}", data=form, headers={"Authorization": f"Bearer {PLANTED}"})
        assert made.status_code == 200, made.text

    return plant


def _published(server: Stream, operation_id: str, payload: nats.Message) -> None:
    headers = {nats.KEY: "another", nats.MARK: operation_id}
    server.asked(lambda stream: stream.publish(payload.subject, payload.body.encode(), headers=headers))


def _delivered(server: Post, operation_id: str, payload: mail.Mail) -> None:
    mailbox.Maildir(server.environ["SENT_MAIL"], create=False).add(mail.written(payload, operation_id))


COUNTED = {
    "stripe-stateful-mock": Counting(Mock, _refund, _posted("/v1/refunds", "charge", "amount")),
    "localstripe": Counting(LocalPayments, _payment, _posted("/v1/payment_intents", "amount", "currency")),
    "nats-server": Counting(Stream, _message, _published),
    "aiosmtpd, with a Maildir": Counting(Post, _letter, _delivered),
}


@pytest.mark.parametrize("counting", COUNTED.values(), ids=COUNTED)
def test_a_second_record_at_the_receiver_is_an_incident(
    counting: Counting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = counting.start(tmp_path)
    for name, value in server.environ.items():
        monkeypatch.setenv(name, value)
    house = House(tmp_path, monkeypatch)
    # The servers' clocks are the machine's, and a lookup asks for what is there since the first attempt.
    house.clock = house.app.clock = FakeClock(SystemClock().now_us())
    workflow, payload = counting.declare(house.app)
    house.found()

    async def story() -> None:
        sweep = house.app.receipts.sweep
        given = payload.model_validate(server.prepare("1"))
        async with house.working():
            run_id = await submit(house, workflow, given, "r-1")
            await house.state(run_id, "completed")
        (operation,) = house.operations(run_id)
        house.clock.advance(6 * 60)
        once = await sweep()
        assert (once["asked"], once["duplicates"], once["notices"]) == (1, [], [])
        counting.plant(server, operation.operation_id, given)
        house.clock.advance(86_400)
        (found,) = (await sweep())["duplicates"]
        assert (found["number"], found["records"], found["owner"]) == (operation.number, 2, "lead")
        (incident,) = house.app.incidents.list(open_only=True)["items"]
        assert "op-1 of run-1, owned by lead" in incident["what"] and "receipt of op-1" in incident["what"]
        assert incident["evidence"] and house.operations(run_id)[0].status.value == "succeeded"

    try:
        asyncio.run(story())
        house.clean()
    finally:
        house.app.close()
        server.close()
