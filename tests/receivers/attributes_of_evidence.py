"""The attributes of lookups, and of what the receiver says by itself."""

import asyncio
from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.engine.port import Ask
from counterfoil.model.contract import Found, Seen, Webhook
from counterfoil.model.receipt import Receipt
from tests.engine.house import Order
from tests.engine.messages import body_of, stripe
from tests.receivers.attributes import UNASKED, Case, Ended, Story, asked_for, faulty, lost
from tests.traps.stage import Stage

TWO = Ended("completed", 2)
DOUBT = Ended("outcome_unknown", 1)
NOT_THERE = Ended("outcome_unknown", 0)
ZERO, MINUTE = timedelta(0), timedelta(minutes=1)
KNOWN = {"lookup.consistency": "strong", "lookup.visible_within": ZERO, "lookup.arrives_within": ZERO}
SOON = {"request_timeout": timedelta(milliseconds=500)}


def github(path: str, *, ends: Ended = DOUBT, story: Story = lost, **parts: Any) -> Case:
    return Case(path=path, entry="github_issue_comment", story=story, ends=ends, **parts)


async def nothing(ask: Ask, order: Order) -> Seen[Receipt]:
    """It asks for somebody else's."""
    page = (await ask.http.get(Stage.path, params={"reference": "op_other"})).json()
    return Seen([Found(Receipt(reference=each["id"])) for each in page["data"]], complete=True)


async def existence(ask: Ask, order: Order) -> Seen[Receipt]:
    """By our mark, and without its content."""
    page = (await ask.http.get(Stage.path, params={"reference": ask.operation_id})).json()
    return Seen([Found(Receipt(reference=each["id"])) for each in page["data"]], complete=True)


def out_of_reach(made: Stage) -> list[str]:
    """The answer is lost, and for a minute nobody can be asked. Then five minutes pass."""
    made.receiver.blind({"on": True})
    made.faults.arm("drop-reply")
    made.told(within=60)
    made.receiver.blind({"on": False})
    return made.told(within=300)


LOOKUPS = [
    github("lookup", wrong={"lookup": None}),
    github("lookup.function", wrong={"lookup.function": nothing}),
    github(
        "lookup.consistency",
        right=KNOWN,
        wrong={"lookup.consistency": None},
        story=faulty("error-before-accept"),
        ends=NOT_THERE,
    ),
    github(
        "lookup.visible_within",
        right={**KNOWN, "lookup.visible_within": 2 * MINUTE},
        wrong={"lookup.visible_within": ZERO},
        receiver={"lookup_lag_seconds": 60.0},
        ends=TWO,
    ),
    github(
        "lookup.arrives_within",
        right={**KNOWN, **SOON, "lookup.arrives_within": 10 * MINUTE},
        wrong={"lookup.arrives_within": ZERO},
        receiver={"late_arrival_seconds": 300.0},
        story=faulty("hang"),
        ends=TWO,
    ),
    github(
        "lookup.absence_authorises",
        right=KNOWN,
        wrong={"lookup.absence_authorises": False},
        story=faulty("error-before-accept"),
        ends=NOT_THERE,
    ),
    github(
        "lookup.finds_by",
        wrong={"lookup.finds_by": "content"},
        how=asked_for(asks=existence),
        ends=Ended("receiver_mismatch", 1),
    ),
    github(
        "lookup.pause",
        wrong={"lookup.pause": timedelta(hours=12)},
        story=out_of_reach,
        ends=Ended("waiting", 1),
    ),
]

# ------------------------------------------------------------------ messages

MADE = Webhook(type="made", operation="data.text", reference="data.id", dedupe="id")


def told_of_it(made: Stage) -> list[str]:
    """The answer is lost, nobody can ask, and then the receiver speaks."""
    made.faults.arm("drop-reply")
    assert made.told() == ["outcome_unknown"]
    says(made)
    return made.told()


def told_later(made: Stage) -> list[str]:
    """It was answered, and then the receiver speaks as well."""
    states = made.told()
    says(made)
    return states


def says(made: Stage) -> None:
    """A genuine message about the operation, stored and matched."""
    (held,) = made.held()
    data = {
        "id": held["id"],
        "serial": "another",
        "text": f"done <!-- {made.operation().operation_id} -->",
        "title": "",
    }
    body = body_of({"type": "made", "kind": "issue", "id": "evt_1", "data": data})

    async def taken() -> None:
        receipts = made.house.app.receipts
        stored, _ = await receipts.take("r", stripe(body, made.house.clock.now_us()), body)
        await receipts.match(stored.delivery_id)

    asyncio.run(taken())


def message(name: str, value: Any, *, ends: Ended = DOUBT, story: Story = told_of_it) -> Case:
    return github(
        f"receipts.{name}",
        right={"receipts": [MADE]},
        wrong={"receipts": [replace(MADE, **{name: value})]},
        story=story,
        how={**UNASKED, "signs": True},
        ends=ends,
    )


MESSAGES = [
    github(
        "receipts", right={"receipts": [MADE]}, wrong={"receipts": []}, story=told_of_it, how={**UNASKED, "signs": True}
    ),
    message("type", "voided"),
    message("type_path", "kind"),
    message("operation", "data.title"),
    github(
        "receipts.means",
        right={"receipts": [replace(MADE, reference="data.serial", means="later")]},
        wrong={"receipts": [replace(MADE, reference="data.serial")]},
        story=told_later,
        how={**UNASKED, "signs": True},
        ends=Ended("completed", 1, incidents=1),
    ),
    message("dedupe", "", ends=Ended("contract_contradiction", 0)),
    message("reference", "data.serial", story=told_later, ends=Ended("completed", 1, incidents=1)),
]
