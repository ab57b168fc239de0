"""Stripe's connector at stripe-stateful-mock, which keeps keys as the API does, and at localstripe, which takes none."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx2

from counterfoil.app.application import App
from counterfoil.connectors import stripe
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    key_alone,
    key_over,
    killed_after_acceptance,
    late_arrival,
    late_lookup,
    reply_lost,
)
from counterfoil.connectors.serving import PLANTED, OverHttp, SandboxServed
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.localstripe import LocalStripe
from counterfoil.testing.servers.stripe_mock import PaymentProvider

PAID, GIVEN_BACK = 4900, 1200
CARD = {"card[number]": "4242424242424242", "card[exp_month]": "12", "card[exp_year]": "2050", "card[cvc]": "123"}
BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="payments-oncall")

app = App("drilled-stripe")
app.receiver("stripe", url=Env("STRIPE_URL"), credential=Bearer(Env("STRIPE_KEY")), environment="test")
refund = stripe.refund(app, receiver="stripe", owner="payments-oncall")
payment = stripe.payment_intent(app, receiver="stripe", owner="payments-oncall")

# The same protocol without keys, as an older or a smaller server speaks it: only the lookup protects.
keyless = App("drilled-stripe-without-keys")
keyless.receiver("stripe", url=Env("STRIPE_URL"), credential=Bearer(Env("STRIPE_KEY")), environment="test")
looked_up_refund = stripe.refund(keyless, receiver="stripe", owner="payments-oncall", overrides={"key": None})
looked_up_payment = stripe.payment_intent(keyless, receiver="stripe", owner="payments-oncall", overrides={"key": None})


@app.workflow(version=1, budget=BUDGET)
async def give_back(run: Run, asked: stripe.Refund) -> stripe.RefundReceipt:
    """One refund, under our key."""
    return await run.perform(refund, asked)


@app.workflow(version=1, budget=BUDGET)
async def ask_for(run: Run, asked: stripe.PaymentIntent) -> stripe.PaymentReceipt:
    """One payment intent, under our key."""
    return await run.perform(payment, asked)


@keyless.workflow(version=1, budget=BUDGET)
async def give_back_once(run: Run, asked: stripe.Refund) -> stripe.RefundReceipt:
    """One refund, without a key."""
    return await run.perform(looked_up_refund, asked)


@keyless.workflow(version=1, budget=BUDGET)
async def ask_for_once(run: Run, asked: stripe.PaymentIntent) -> stripe.PaymentReceipt:
    """One payment intent, without a key."""
    return await run.perform(looked_up_payment, asked)


class Mock(OverHttp):
    """The npm server behind our proxy. Each case refunds a charge of its own."""

    def __init__(self, folder: Path) -> None:
        del folder
        self._provider = PaymentProvider()
        super().__init__(ProxyProcess(self._provider.url))
        self.environ: Mapping[str, str] = {"STRIPE_URL": self.url, "STRIPE_KEY": PLANTED}

    def prepare(self, number: str) -> dict[str, Any]:
        """A payment is made, so that it can be given back."""
        self.disarm()
        _, charge = self._provider.charge(PAID)
        return {"number": number, "charge": charge["id"], "amount": GIVEN_BACK, "currency": "EUR"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The refunds of its charge."""
        return len(self._provider.refunds(payload["charge"]))

    def close(self) -> None:
        """End both."""
        super().close()
        self._provider.close()


class Local(OverHttp):
    """localstripe behind our proxy."""

    def __init__(self, folder: Path) -> None:
        del folder
        self._server = LocalStripe()
        self._client = httpx2.Client(base_url=self._server.url, headers={"Authorization": f"Bearer {PLANTED}"})
        super().__init__(ProxyProcess(self._server.url))
        self.environ: Mapping[str, str] = {"STRIPE_URL": self.url, "STRIPE_KEY": PLANTED}

    def prepare(self, number: str) -> dict[str, Any]:
        """A payment is made, so that it can be given back."""
        self.disarm()
        card = self._made("/v1/payment_methods", {"type": "card", **CARD})
        charge = self._made("/v1/charges", {"amount": PAID, "currency": "eur", "source": card})
        return {"number": number, "charge": charge, "amount": GIVEN_BACK, "currency": "EUR"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The refunds of its charge."""
        return len(self.all("/v1/refunds", charge=payload["charge"]))

    def all(self, path: str, **by: str) -> list[dict[str, Any]]:
        """A list by the server's own account."""
        return self._client.get(path, params={**by, "limit": 1000}).raise_for_status().json()["data"]

    def close(self) -> None:
        """End both."""
        super().close()
        self._client.close()
        self._server.close()

    def _made(self, path: str, form: Mapping[str, Any]) -> str:
        return self._client.post(path, data=form).raise_for_status().json()["id"]


class LocalPayments(Local):
    """The same for payment intents: each case asks for an amount that no other asks for."""

    asked = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """Nothing need be there."""
        self.disarm()
        self.asked += 1
        return {"number": number, "amount": PAID + self.asked, "currency": "EUR"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The intents of this amount."""
        return sum(1 for each in self.all("/v1/payment_intents") if each["amount"] == payload["amount"])


class Intents(SandboxServed):
    """The sandbox that keeps the contract: none of the real servers has both payment intents and keys."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, stripe.payment_contract())
        self.environ: Mapping[str, str] = {"STRIPE_URL": self.url, "STRIPE_KEY": PLANTED}
        self._asked = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """Each case asks for an amount that no other asks for."""
        self.disarm()
        self._asked += 1
        return {"number": number, "amount": PAID + self._asked, "currency": "EUR"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The intents of this amount."""
        return sum(1 for each in self.held() if each["amount"] == str(payload["amount"]))


KEYED = (
    Case("as-usual", "succeeded", as_usual, attempts=1),
    Case("reply-lost", "succeeded", reply_lost),
    Case("killed-after-acceptance", "succeeded", killed_after_acceptance),
    Case("key-alone", "succeeded", key_alone, attempts=2),
    Case("key-over", "succeeded", key_over, attempts=1),
    Case("late-arrival", "succeeded", late_arrival, attempts=1),
)
LOOKED_UP = (
    Case("as-usual", "succeeded", as_usual, attempts=1),
    Case("reply-lost", "succeeded", reply_lost, attempts=1),
    Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
    Case("late-arrival", "succeeded", late_arrival, attempts=1),
)
DRILLS = [
    Drill(
        connector="stripe.refund",
        entries=[stripe.ENTRY],
        app=app,
        workflow=give_back,
        server="stripe-stateful-mock 0.0.16",
        server_kind="real",
        start=Mock,
        cases=KEYED,
    ),
    Drill(
        connector="stripe.refund",
        entries=[stripe.ENTRY],
        app=keyless,
        workflow=give_back_once,
        server="localstripe 1.15.10, without keys",
        server_kind="real",
        start=Local,
        cases=LOOKED_UP,
    ),
    Drill(
        connector="stripe.payment_intent",
        entries=[stripe.ENTRY],
        app=keyless,
        workflow=ask_for_once,
        server="localstripe 1.15.10, without keys",
        server_kind="real",
        start=LocalPayments,
        cases=LOOKED_UP,
    ),
    Drill(
        connector="stripe.payment_intent",
        entries=[stripe.ENTRY],
        app=app,
        workflow=ask_for,
        server="the sandbox of stripe_v1",
        server_kind="sandbox",
        start=Intents,
        cases=[*KEYED, Case("late-lookup", "succeeded", late_lookup, attempts=1)],
    ),
]
