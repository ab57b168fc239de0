"""Traps of answers and lookups: what a status, a marker or an absence does not prove. What the receiver holds decides."""

import asyncio
import re
from datetime import timedelta
from typing import Any

import httpx2
import pytest

from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Found, Reference, Seen
from counterfoil.model.errors import Refused
from counterfoil.model.ids import KeyFormat, encode_key
from counterfoil.model.receipt import Receipt
from counterfoil.receivers.catalogue import entries
from tests.engine.house import Order
from tests.traps.stage import Build, Stage

SOON = {"request_timeout": timedelta(milliseconds=500)}
ALPHABET = {KeyFormat.BASE32HEX: r"[0-9a-v]+", KeyFormat.UUID: r"[0-9a-f-]+", KeyFormat.TEXT: r"[0-9a-z_-]+"}
MINUTE = timedelta(minutes=1)


def trap_12_errors_arrive_inside_a_200(stage: Build) -> None:
    """A status alone records a failure as a success: the body is read first, and what it does not say is a doubt."""
    slack = stage("slack_post_message")
    slack.faults.arm("refuse", status=200, body={"ok": False, "error": "channel_not_found"})
    assert slack.told() == ["outcome_unknown"]
    assert slack.held() == [] and slack.operation().status.value == "unknown"

    shopify = stage("shopify_graphql")
    wrong = {"data": {"refundCreate": {"userErrors": [{"code": "INVALID"}]}}}
    shopify.faults.arm("refuse", status=200, body=wrong)
    assert shopify.told() == ["step_failed"]
    assert shopify.held() == [] and shopify.operation().status.value == "failed"

    good = stage("shopify_graphql")
    good.faults.arm("refuse", status=200, body={"data": {"refundCreate": {"userErrors": [], "id": "r-1"}}})
    assert good.told() == ["completed"]


def trap_13_a_vendors_retry_header_beats_the_status(stage: Build) -> None:
    """The same 503 with the header had no effect and is sent again; without it, it is a doubt."""
    adyen = stage("adyen", asks=None)
    adyen.faults.arm("refuse", status=503, headers={"transient-error": "true"})
    assert adyen.told() == ["completed"]
    assert len(adyen.held()) == 1 and len(adyen.requests()) == 2

    plain = stage("adyen", asks=None)
    plain.faults.arm("refuse", status=503)
    assert plain.told() == ["outcome_unknown"]
    assert plain.held() == [] and len(plain.requests()) == 1


def trap_14_without_its_marker_a_2xx_does_not_prove_a_replay(stage: Build) -> None:
    """A receiver that ignores the header silently makes two: the receipt claims no replay, and a lookup finds both."""
    honest = stage("stripe_v1", asks=None)
    honest.faults.arm("drop-reply")
    assert honest.told() == ["completed"]
    assert len(honest.held()) == 1 and honest.receipts()[0].proves == "current_state"

    ignoring = stage(
        "stripe_v1",
        sandbox={"key_header": None, "lookup_lag_seconds": 60.0},
        overrides={"counts_as": {"type", "reference", "seen_twice"}},
    )
    ignoring.faults.arm("drop-reply")
    assert ignoring.told() == ["completed"]
    assert len(ignoring.held()) == 2 and ignoring.receipts()[0].proves == "first_result"
    # The witness sweep counts them, twice, a lookup's delay apart.
    for seconds, found in ((400, 0), (120, 1)):
        ignoring.advance(seconds)
        swept = asyncio.run(ignoring.house.app.receipts.sweep())
        assert (swept["asked"], len(swept["duplicates"])) == (1, found)
    (incident,) = ignoring.house.app.incidents.list(open_only=True)["items"]
    assert incident["operation_id"] == ignoring.operation().operation_id
    assert all(record["id"] in incident["what"] for record in ignoring.held())
    assert len(ignoring.requests()) == 2, "a sweep sends nothing"


def trap_15_an_eventual_lookup_does_not_prove_absence(stage: Build) -> None:
    """Not found is evidence only when the receiver must show it by then; where nobody knows when, never."""
    lagging = {"lookup_lag_seconds": 30.0}
    jira = stage("jira_issue", sandbox=lagging)
    jira.faults.arm("drop-reply")
    assert jira.told() == ["outcome_unknown"]
    assert len(jira.held()) == 1 and len(jira.requests()) == 1

    known = {"lookup.visible_within": 2 * MINUTE, "lookup.arrives_within": MINUTE}
    patient = stage("jira_issue", sandbox=lagging, overrides=known)
    patient.faults.arm("drop-reply")
    assert patient.told() == ["completed"]
    assert len(patient.held()) == 1 and len(patient.requests()) == 1 and patient.receipts()[0].how == "lookup"


def trap_16_a_lookup_shows_existence_and_not_authorship(stage: Build) -> None:
    """Somebody else's record with other content is not ours, though nothing else is there."""

    async def everything(ask: Ask, order: Order) -> Seen[Receipt]:
        page = (await ask.http.get(Stage.path, params={"limit": 100})).json()
        shown = [(item["id"], {"number": item["number"], "amount": item["amount"]}) for item in page["data"]]
        return Seen([Found(Receipt(reference=id), payload=Order(**content)) for id, content in shown], complete=True)

    twilio = stage("twilio_messages", asks=everything)
    httpx2.post(twilio.server.url + Stage.path, json={"number": "1", "amount": 99}, headers={"x": "theirs"})
    twilio.faults.arm("error-before-accept")
    assert twilio.told() == ["receiver_mismatch"]
    assert [item["reference"] for item in twilio.held()] == [None]

    ours = stage("twilio_messages", asks=everything)
    ours.faults.arm("drop-reply")
    assert ours.told() == ["completed"]
    assert [item["reference"] for item in ours.held()] == [ours.operation().operation_id]


def trap_17_keys_have_alphabets_and_sizes(stage: Build) -> None:
    """Every key fits what its receiver takes, whole: a key that was cut would be another operation's."""
    for entry in entries():
        key = entry.contract.key
        if key is not None:
            made = encode_key("op_3" + "v" * 22, 255, key.format)
            assert (key.min_length or 1) <= len(made) <= (key.max_length or 999), entry.id
            assert re.fullmatch(ALPHABET[key.format], made), entry.id

    discord = stage("discord_message", overrides={"key.account_retention": timedelta(hours=1)}, asks=None)
    discord.faults.arm("drop-reply")
    assert discord.told() == ["completed"]
    (record,) = discord.held()
    assert len(record["key"]) == 24 and re.fullmatch(r"[0-9a-v]{24}", record["key"])
    with pytest.raises(Refused) as refused:
        stage("discord_message", overrides={"key.format": KeyFormat.UUID})
    assert refused.value.code == "contract_contradiction" and "max_length is 25" in refused.value.message


def trap_18_the_random_key_of_an_sdk_dies_with_its_process(stage: Build) -> None:
    """The SDK gets our key, so that a restarted process sends the same one."""
    stripe = stage("stripe_v1", asks=None)

    def through_an_sdk(app: Any) -> Any:
        def write(call: Call, order: Order) -> Receipt:
            with call.sending() as sending:
                answer = httpx2.post(
                    stripe.server.url + Stage.path,
                    json=order.model_dump(),
                    headers={"Idempotency-Key": sending.key or "random", "Counterfoil-Operation": call.operation_id},
                )
                sending.reply(answer.status_code, answer.content, answer.headers)
            return Receipt(reference=answer.json()["id"])

        return stripe.register(app, {}, repeatable=False, operations=[write])

    stripe.restart(through_an_sdk)
    stripe.faults.arm("drop-reply")
    assert stripe.told(within=0) == ["waiting"]
    stripe.restart(through_an_sdk)
    assert stripe.told() == ["completed"]
    keys = {request["key"] for request in stripe.requests()}
    assert len(stripe.held()) == 1 and len(stripe.requests()) == 2 and keys == {stripe.attempts()[0].idempotency_key}


def trap_19_a_request_arrives_after_a_negative_lookup(stage: Build) -> None:
    """Not found, and it lands five minutes later: nothing is sent again before it can no longer arrive."""
    slow = {"late_arrival_seconds": 300.0}
    known = {"lookup.consistency": "strong", "lookup.visible_within": timedelta(0)}
    github = stage(
        "github_issue_comment", sandbox=slow, overrides={**SOON, **known, "lookup.arrives_within": 10 * MINUTE}
    )
    github.faults.arm("hang")
    assert github.told() == ["completed"]
    assert len(github.held()) == 1 and len(github.requests()) == 1 and github.receipts()[0].how == "lookup"

    unknown = stage("github_issue_comment", sandbox=slow, overrides={**SOON, **known})
    unknown.faults.arm("hang")
    assert unknown.told() == ["outcome_unknown"]
    unknown.advance(600)
    assert len(unknown.held()) == 1 and len(unknown.requests()) == 1


def trap_20_two_intended_equal_effects_become_one(stage: Build) -> None:
    """The content is the key there: our own reference in it forces the second to be another."""
    eats = {"content_key": True, "other_body": "part_of_identity"}
    stamped = {"reference": Reference(body="reference")}
    mail = stage("content_hash_mail", sandbox=eats, overrides=stamped, repeatable=True, asks=None)
    assert mail.told("first", "second") == ["completed", "completed"]
    assert len(mail.held()) == 2

    eaten = stage("content_hash_mail", sandbox=eats, repeatable=True, asks=None)
    assert eaten.told("first", "second") == ["completed", "completed"]
    assert len(eaten.held()) == 1, "what happens without it"


def trap_21_a_409_has_many_meanings(stage: Build) -> None:
    """At work, another body under the key, the first success, or nothing that can be concluded."""
    told: dict[str, tuple[str, int, int]] = {}
    for name, entry, body in (
        ("at work", "resend_email", {"name": "concurrent_idempotent_requests"}),
        ("other body", "resend_email", {"name": "invalid_idempotent_request"}),
        ("neither", "resend_email", {"name": "else"}),
        ("the first success", "interchecks", {"id": "pay_1"}),
        ("at work, whatever it says", "modern_treasury", {}),
        ("another object has the key", "increase", {"resource_id": "transfer_1"}),
        ("it exists, perhaps", "gocardless", {"error": {"reason": "idempotent_creation_conflict"}}),
    ):
        window = {"key.account_retention": timedelta(hours=24)}
        there = stage(entry, asks=None, overrides=window)
        there.faults.arm("refuse", status=409, body=body)
        (state,) = there.told()
        told[name] = (state, len(there.held()), len(there.requests()))
    assert told == {
        "at work": ("completed", 1, 2),
        "other body": ("outcome_unknown", 0, 1),
        "neither": ("outcome_unknown", 0, 1),
        "the first success": ("completed", 0, 1),
        "at work, whatever it says": ("completed", 1, 2),
        "another object has the key": ("outcome_unknown", 0, 1),
        "it exists, perhaps": ("outcome_unknown", 0, 1),
    }
