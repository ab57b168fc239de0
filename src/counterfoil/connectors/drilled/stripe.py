"""Stripe's connector against stripe-stateful-mock, which keeps keys as the API does."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import stripe
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    key_over,
    killed_after_acceptance,
    late_arrival,
    reply_lost,
)
from counterfoil.connectors.serving import OverHttp
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.stripe_mock import KEY, PaymentProvider

PAID, GIVEN_BACK = 4900, 1200

app = App("drilled-stripe")
app.receiver("stripe", url=Env("STRIPE_URL"), credential=Bearer(Env("STRIPE_KEY")), environment="test")
refund = stripe.refund(app, receiver="stripe", owner="payments-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="payments-oncall"))
async def give_back(run: Run, asked: stripe.Refund) -> stripe.RefundReceipt:
    """One refund."""
    return await run.perform(refund, asked)


class Mock(OverHttp):
    """The npm server behind our proxy. Each case refunds a charge of its own."""

    def __init__(self, folder: Path) -> None:
        del folder
        self._provider = PaymentProvider()
        super().__init__(ProxyProcess(self._provider.url))
        self.environ: Mapping[str, str] = {"STRIPE_URL": self.url, "STRIPE_KEY": KEY}

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


DRILLS = [
    Drill(
        connector="stripe.refund",
        entries=[stripe.ENTRY],
        app=app,
        workflow=give_back,
        server="stripe-stateful-mock 0.0.16",
        server_kind="real",
        start=Mock,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance),
            Case("key-over", "succeeded", key_over, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
        ],
    )
]
