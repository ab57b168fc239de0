"""The attributes of a key."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.connectors.serving import Plain
from counterfoil.engine.port import Call
from counterfoil.model.contract import When
from counterfoil.model.ids import KeyFormat
from counterfoil.model.receipt import Receipt
from counterfoil.testing.loopback.exchange import Reply, Request
from tests.engine.house import Order
from tests.receivers.attributes import UNASKED, Case, Ended, Story, asked_for, gone_on, in_doubt, lost, lost_for
from tests.traps.stage import Stage

TWO = Ended("completed", 2)
DOUBT = Ended("outcome_unknown", 1)
UNFIT = Ended("contract_contradiction", 0)
HOUR, DAY = timedelta(hours=1), timedelta(days=1)
MINUTE, ZERO = timedelta(minutes=1), timedelta(0)
SOON = {"request_timeout": timedelta(milliseconds=500)}
PLAIN_RULES = [
    When(status=201).means("applied"),
    When(status=402).means("refused"),
    When(status=409).means("in_progress"),
]
ANY_ANSWER = {"test-mode": "true"}  # what every answer of the sandbox carries
MARKED = {"idempotent-replayed": "true"}
KNOWN = {"lookup.consistency": "strong", "lookup.visible_within": ZERO, "lookup.arrives_within": 10 * MINUTE}
REPEATED = lost_for(0)
SLOWLY = {"late_arrival_seconds": 90.0}


class KeyInPath(Plain):
    """The key is the last part of the path; the sandbox takes it in a header."""

    def asked(self, request: Request) -> Request | Reply:
        if not request.is_write:
            return request
        path, _, key = request.path.rpartition("/")
        return replace(request, path=path, headers={**request.headers, "idempotency-key": key})


async def put(call: Call, order: Order) -> Receipt:
    """Its place holds our key."""
    reply = await call.http.put(Stage.path + "/{key}", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


def deployed(**more: str) -> Any:
    """The tool of one deployment: `more` stands in the body as well."""

    async def write(call: Call, order: Order) -> Receipt:
        named = {"Counterfoil-Operation": call.operation_id}
        reply = await call.http.post(Stage.path, json={**order.model_dump(), **more}, headers=named)
        return Receipt(reference=str(reply.json()["id"]))

    return write


def rotated(made: Stage) -> list[str]:
    """The credential is another one before anybody goes on."""
    in_doubt(made, "drop-reply")
    made.monkeypatch.setenv("TRAP_TOKEN", "second")
    return gone_on(made)


def redeployed(made: Stage) -> list[str]:
    """The code writes other bytes before anybody goes on."""
    in_doubt(made, "drop-reply")
    made.restart(lambda app: made.register(app, {}, repeatable=False, operations=[deployed(note="new")]))
    return gone_on(made)


def refused_late(made: Stage) -> list[str]:
    """It is accepted, its answer is lost, the receiver loses its keys, and the repeat is refused for itself."""
    in_doubt(made, "drop-reply")
    made.receiver.forget_keys({})
    made.faults.arm("refuse", status=402, body={"error": {"type": "card_error"}})
    return gone_on(made)


def failed_after(made: Stage) -> list[str]:
    """It is accepted, and answered with an error that is not kept."""
    in_doubt(made, "error-after-accept")
    return gone_on(made)


def second_try(made: Stage) -> list[str]:
    """The first try is turned away before anything. Twenty hours later the second one is accepted, its answer is lost."""
    made.faults.arm("error-before-accept")
    made.told(within=0)
    made.advance(20 * 3600)
    made.faults.arm("drop-reply")
    made.told(within=0)
    made.advance(20 * 3600)
    return made.told()


def still_running(seconds: float = 0) -> Story:
    """The first request is given up while it runs, and lands a minute and a half later."""

    def story(made: Stage) -> list[str]:
        made.faults.arm("hang")
        made.told(within=0)
        made.advance(seconds)
        return made.told()

    return story


def stripe(path: str, *, story: Story = REPEATED, ends: Ended = TWO, **parts: Any) -> Case:
    return Case(path=f"key.{path}", entry="stripe_v1", story=story, ends=ends, **parts)


KEYS = [
    Case(path="key", entry="stripe_v1", wrong={"key": None}, story=lost, ends=DOUBT, how=UNASKED),
    stripe("header", wrong={"key.header": "X-Token"}),
    stripe(
        "query",
        right={"key.header": None, "key.query": "token"},
        wrong={"key.query": "key"},
    ),
    stripe("body", right={"key.header": None, "key.body": "meta.token"}, wrong={"key.body": "token"}),
    stripe(
        "path",
        right={"key.header": None, "key.path": "{key}"},
        wrong={"key.path": "{id}"},
        how=asked_for(dialect=KeyInPath(), tool=put),
        ends=Ended("budget_attempts", 0),
    ),
    stripe(
        "format",
        right={"key.format": KeyFormat.BASE32HEX, "key.max_length": 25},
        wrong={"key.format": KeyFormat.UUID},
        ends=UNFIT,
    ),
    stripe("min_length", right={"key.min_length": 30}, wrong={"key.min_length": 36}, ends=UNFIT),
    stripe("max_length", right={"key.max_length": 30}, wrong={"key.max_length": 25}, ends=UNFIT),
    #
    stripe("retention", right={"key.retention": HOUR}, wrong={"key.retention": DAY}, story=lost_for(7200)),
    stripe(
        "account_retention",
        right={"key.account_retention": HOUR},
        wrong={"key.account_retention": None},
        story=lost_for(7200),
    ),
    stripe(
        "clock",
        right={"key.clock": "first_accepted", "before_execution": {503}, **KNOWN},
        wrong={"key.clock": "first_sent", "lookup": None},
        story=second_try,
        ends=DOUBT,
    ),
    stripe(
        "margin",
        right={"key.retention": HOUR, "key.margin": 10 * MINUTE, "key.arrives_within": ZERO},
        wrong={"key.margin": ZERO},
        receiver={"key_window_seconds": 3300.0},
        story=lost_for(3400),
    ),
    stripe(
        "after_window",
        right={"key.retention": HOUR},
        wrong={"key.after_window": "refuses"},
        story=lost_for(7200),
    ),
    stripe("scope", wrong={"key.scope": {"endpoint"}}, story=rotated),
    Case(
        path="key.other_body",
        entry="plaid_bank_transfer",
        wrong={"key.other_body": "rejects"},
        story=redeployed,
        ends=TWO,
        how=asked_for(tool=deployed()),
    ),
    stripe(
        "saves",
        right={"classifier": PLAIN_RULES, "key.saves": {"2xx"}, "key.replay_marker": ANY_ANSWER},
        wrong={"key.saves": {"2xx", "4xx"}},
        story=refused_late,
        ends=Ended("step_failed", 1),
    ),
    Case(
        path="key.unsaved",
        entry="checkout_com",
        wrong={"key.unsaved": "resumes"},
        story=failed_after,
        ends=TWO,
        how=asked_for(),
    ),
    stripe(
        "replay_marker",
        right={"classifier": PLAIN_RULES, "key.replay_marker": MARKED},
        wrong={"key.replay_marker": ANY_ANSWER},
        story=refused_late,
        ends=Ended("step_failed", 1),
    ),
    stripe(
        "replay_body",
        right={"classifier": PLAIN_RULES, "key.replay_marker": None, "key.replay_body": {"replayed": True}},
        wrong={"key.replay_body": {"error.type": "card_error"}},
        story=refused_late,
        ends=Ended("step_failed", 1),
    ),
    #
    stripe(
        "in_progress",
        right={**SOON, "key.in_progress": "refuses", "key.arrives_within": 2 * MINUTE},
        wrong={"key.in_progress": "waits"},
        receiver=SLOWLY,
        story=still_running(),
        ends=DOUBT,
        how=UNASKED,
    ),
    stripe(
        "arrives_within",
        right={**SOON, "key.in_progress": "refuses", "key.arrives_within": 2 * MINUTE},
        wrong={"key.arrives_within": ZERO},
        receiver=SLOWLY,
        story=still_running(),
        ends=DOUBT,
        how=UNASKED,
    ),
    stripe(
        "lock_timeout",
        right={**SOON, **KNOWN, "key.lock_timeout": MINUTE},
        wrong={"key.lock_timeout": None},
        receiver=SLOWLY,
        story=still_running(70),
    ),
]
