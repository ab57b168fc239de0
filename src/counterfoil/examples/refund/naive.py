"""The refund as it is written without a ledger: a plain HTTP request inside a step. Do not copy: it is drilled to fail.

It is recorded, retried and resumed like any step, and that is what makes the second refund: a step may run again, and
this one moves money. `counterfoil drill counterfoil.examples.refund.naive:naive_refund` counts what the receiver holds.
"""

from datetime import timedelta

import httpx2
from pydantic import BaseModel

from counterfoil import App, Budget, Env, Retry, Run, step
from counterfoil.examples.refund.app import Choice, RefundReceipt, RefundRequest, read_payment, refund_agent
from counterfoil.settings import environment

PROVIDER = "https://api.stripe.com"

app = App("naive-refunds")
app.receiver("stripe", url=Env("STRIPE_URL", PROVIDER), environment="test")


class Payback(BaseModel):
    """What leaves; nobody has approved it, and it carries no identity."""

    charge: str
    amount: int


@step(retry=Retry(tries=3))
async def pay_back(payback: Payback) -> RefundReceipt:
    """The mistake: when the reply is lost, or the process dies before the step is recorded, this runs a second time."""
    async with httpx2.AsyncClient(base_url=environment().get("STRIPE_URL", PROVIDER), timeout=10) as client:
        reply = await client.post("/v1/refunds", data=payback.model_dump())
        reply.raise_for_status()
    return RefundReceipt(reference=reply.json()["id"], amount=payback.amount)


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="payments-oncall"))
async def naive_refund(run: Run, request: RefundRequest) -> RefundReceipt:
    """The same story as `refund`: read the payment, let a model choose the amount, pay it back."""
    payment = await run.step(read_payment, request)
    choice: Choice = await run.decide(refund_agent, payment, prompt_version="2026-11")
    return await run.step(pay_back, Payback(charge=request.charge, amount=choice.amount))
