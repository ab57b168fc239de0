"""Signatures of messages: what a receiver signed, over these bytes and now; everything else is nobody's."""

from datetime import timedelta
from typing import Any

import pytest

from counterfoil.app.webhooks.declared import check_webhook
from counterfoil.app.webhooks.signatures import SCHEMES, Genuine, Sent, genuine
from counterfoil.engine.definitions import Env, SignedBy
from counterfoil.model.errors import Refused
from counterfoil.rules.deliveries import ids_within, text_at
from tests.engine.messages import OTHER, STANDARD, github, standard, stripe

NOW = 1_800_000_000_000_000
FIVE_MINUTES = 5 * 60 * 1_000_000
SIGNS = {"standard": standard, "stripe": stripe, "github": github}
TIMED = ("standard", "stripe")
BODY = '{"id": "evt_1", "text": "grün"}'.encode()


def told(
    scheme: str, headers: dict[str, str], body: bytes = BODY, *, now: int = NOW, secrets: Any = (STANDARD,)
) -> Any:
    return genuine(scheme, secrets, Sent(headers, body, now, FIVE_MINUTES))


@pytest.mark.parametrize("scheme", SIGNS)
def test_a_genuine_message_and_no_other(scheme: str) -> None:
    headers = SIGNS[scheme](BODY, NOW)
    assert told(scheme, headers) == Genuine("msg_1" if scheme == "standard" else None)
    assert told(scheme, headers, BODY + b" ") is None, "other bytes"
    assert told(scheme, headers, secrets=(OTHER,)) is None, "another secret"
    assert told(scheme, headers, secrets=("",)) is None and told(scheme, headers, secrets=()) is None, "no secret"
    assert told(scheme, {}) is None, "no signature"
    assert told(scheme, {name: value * 4_001 for name, value in headers.items()}) is None, "too long to be honest"


@pytest.mark.parametrize("scheme", SIGNS)
def test_during_an_exchange_of_secrets_both_are_good(scheme: str) -> None:
    for signed in (STANDARD, OTHER):
        assert told(scheme, SIGNS[scheme](BODY, NOW, secret=signed), secrets=(STANDARD, OTHER)) is not None


@pytest.mark.parametrize("scheme", TIMED)
@pytest.mark.parametrize(("off", "holds"), [(0, True), (299, True), (-299, True), (301, False), (-301, False)])
def test_a_signed_time_must_be_of_now(scheme: str, off: int, holds: bool) -> None:
    headers = SIGNS[scheme](BODY, NOW)
    assert (told(scheme, headers, now=NOW + off * 1_000_000) is not None) is holds


@pytest.mark.parametrize("time", ["", "soon", "1e9", "-1800000000", "1800000000.0", "٣", "9" * 13])
def test_a_time_that_is_none(time: str) -> None:
    assert told("standard", standard(BODY, NOW) | {"webhook-timestamp": time}) is None
    signed = stripe(BODY, NOW)["stripe-signature"].partition(",")[2]
    assert told("stripe", {"stripe-signature": f"t={time},{signed}"}) is None


def test_the_id_of_a_standard_message_is_signed_and_stripes_time_stands_once() -> None:
    assert told("standard", standard(BODY, NOW) | {"webhook-id": "msg_2"}) is None
    signed = stripe(BODY, NOW)["stripe-signature"]
    assert told("stripe", {"stripe-signature": f"t=1,{signed}"}) is None
    assert told("stripe", {"stripe-signature": signed.replace("v1=", "v0=")}) is None


def test_bytes_that_are_no_text_and_a_secret_that_is_none_are_refused_quietly() -> None:
    assert told("standard", standard(BODY, NOW), b"\xff") is None
    assert told("standard", standard(BODY, NOW), secrets=("whsec_",)) is None
    assert told("standard", standard(BODY, NOW), secrets=("whsec_ü",)) is None


def test_several_signatures_in_one_header() -> None:
    first, second = (standard(BODY, NOW, secret=each)["webhook-signature"] for each in (OTHER, STANDARD))
    assert told("standard", standard(BODY, NOW) | {"webhook-signature": f"v1a,x {first} {second}"}) is not None


@pytest.mark.parametrize(
    ("webhook", "says"),
    [
        (SignedBy("gitlab", Env("A")), "none of"),  # type: ignore[arg-type] - what a user may write
        (SignedBy("github"), "no secret"),
        (SignedBy("github", "the value itself"), "never the value"),  # type: ignore[arg-type]
        (SignedBy("stripe", Env("A"), tolerance=timedelta(0)), "tolerance"),
    ],
)
def test_a_webhook_that_protects_nothing_is_refused_at_its_declaration(webhook: SignedBy, says: str) -> None:
    with pytest.raises(Refused, match=says) as refused:
        check_webhook("crm", webhook)
    assert refused.value.code == "webhook_unfit" and "the value itself" not in refused.value.message


def test_every_scheme_has_its_tests() -> None:
    assert set(SIGNS) == set(SCHEMES)


def test_where_a_text_stands() -> None:
    body = {"a": {"b": ["x", 7, True, {"c": "d"}]}}
    assert [text_at(body, path) for path in ("a.b.0", "a.b.1", "a.b.2", "a.b.3.c", "a.b.9", "a.x", "a", None)] == [
        "x", "7", None, "d", None, None, None, None,
    ]  # fmt: skip


def test_our_id_in_a_text() -> None:
    ours = "op_" + "0123456789abcdefghijklm"[:23]
    assert ids_within(ours) == {ours}
    assert ids_within(f"Refund <!-- counterfoil:{ours} --> done") == {ours}
    assert ids_within(f"{ours}-1") == {ours}
    assert ids_within("Nothing of ours, op_short included") == frozenset()
