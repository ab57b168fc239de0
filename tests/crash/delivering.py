"""What children do with a message of a receiver: take it in and match it, or carry out the duty that matches what is left."""

import asyncio
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from counterfoil import App, Env, SignedBy
from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.model.contract import Webhook
from counterfoil.testing.bench_child import place
from tests.crash.lives import FOUNDING
from tests.engine.messages import STANDARD, standard

SENT = Webhook(type="sent", operation="operation", reference="mail", dedupe="id")


def listening(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """The application of the crash tests, whose third receiver speaks by itself."""
    place(app, arguments, say)
    receiver, mail = app.registry.receivers["none"], app.registry.operations["mail"]
    app.registry.receivers["none"] = replace(receiver, webhook=SignedBy("standard", Env("MAIL_WEBHOOK")))
    app.registry.operations["mail"] = replace(mail, contract=replace(mail.contract, receipts=[SENT]))
    app.open(FOUNDING)


def takes(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """{operation}. As the server does: stored, answered, matched."""
    listening(app, arguments, say)
    body = json.dumps({"type": "sent", "id": "evt_1", "operation": arguments["operation"], "mail": "m-1"}).encode()
    headers = standard(body, app.open().clock.now_us(), id="evt_1", secret=STANDARD)

    async def taken() -> None:
        stored, new = await app.receipts.take("none", headers, body)
        say({"answered": new})
        await app.receipts.match(stored.delivery_id)

    asyncio.run(taken())
    app.close()


def tends(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """The duty, once."""
    listening(app, arguments, say)
    asyncio.run(Rounds(app, [duty for duty in DUTIES if duty.name == "deliveries"]).once())
    app.close()
