"""Whole drills against receivers that are not our sandbox's own: somebody else's server, and any HTTP receiver."""

from typing import Any

import pytest

from counterfoil.drills.html import page
from counterfoil.drills.receivers import BY_ADAPTER, BY_PROXY
from counterfoil.drills.told import Telling
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess

REFUND = "counterfoil.examples.refund.app:refund"
NAIVE = "counterfoil.examples.refund.naive:naive_refund"
PROVIDER = "counterfoil.examples.refund.provider:Provider"


def drilled(target: str, **options: Any) -> tuple[dict[str, dict[str, Any]], Any]:
    """The cases by fault, and the report."""
    telling = Telling.of(target, **options)
    told = list(telling.cases())
    assert {case["case_id"] for case in told} == {case["case_id"] for case in telling.report["cases"]}
    return {case["fault"]: case for case in telling.report["cases"]}, telling.report


def test_the_payment_provider_keeps_one_refund_when_the_reply_is_lost() -> None:
    cases, report = drilled(REFUND, only="*-lost", receiver=PROVIDER)
    lost = cases["drop-reply"]
    assert (lost["verdict"], lost["outcome"], lost["receiver"]["records"]) == ("pass", "succeeded", 1), lost["reasons"]
    assert lost["receiver"]["payload_digests"] == [lost["proposal_digest"]], (
        "as the adapter tells it, in the approved form"
    )
    assert f"--receiver {PROVIDER}" in lost["repeat"]
    unable = cases["key-store-lost"]
    assert unable["verdict"] == "not_applicable"
    assert "cannot be told to lose its idempotency keys" in unable["reasons"][0]
    assert report["counted"] == BY_ADAPTER and BY_ADAPTER in page(report).replace("&#x27;", "'")


def test_any_receiver_behind_the_proxy_is_counted_by_what_was_forwarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STRIPE_KEY", "sk_test_of_a_user")  # a receiver of one's own is asked with one's own key
    with SandboxProcess("A") as sandbox:
        cases, report = drilled(REFUND, only="*-lost", receiver_url=sandbox.url)
        lost = cases["drop-reply"]
        assert (lost["verdict"], lost["receiver"]["records"]) == ("pass", 1), lost["reasons"]
        assert cases["key-store-lost"]["verdict"] == "not_applicable"
        assert report["counted"] == BY_PROXY
        assert len(sandbox.records()) == 2, "one of the clean run, one of the case"


def test_the_naive_refund_is_caught_where_only_the_proxy_counts() -> None:
    with SandboxProcess("A") as sandbox:
        cases, _ = drilled(NAIVE, only="*/step.ended#2/kill-before", receiver_url=sandbox.url)
        twice = cases["kill-before"]
        assert (twice["verdict"], twice["receiver"]["records"]) == ("fail", 2)
        assert any(reason.startswith("duplicate_records") for reason in twice["reasons"])


def test_one_or_the_other() -> None:
    with pytest.raises(Refused):
        Telling.of(REFUND, receiver=PROVIDER, receiver_url="http://127.0.0.1:1")
