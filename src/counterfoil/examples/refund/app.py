"""The refund: read a payment, let a model choose the amount, have it approved, refund it once.

`STRIPE_URL` and `STRIPE_KEY` say where the payment provider is and who we are there.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel
from pydantic_ai import Agent

from counterfoil import (
    App,
    Ask,
    Bearer,
    Budget,
    Call,
    Contract,
    Env,
    Found,
    IdempotencyKey,
    Lookup,
    Money,
    Receipt,
    Retry,
    ReviewBy,
    Run,
    Seen,
    StepFailed,
    Target,
    When,
    step,
)


class RefundRequest(BaseModel):
    """Trusted input: the business key comes from here, not from the model."""

    request_number: str
    charge: str
    letter: str


class Choice(BaseModel):
    """What the model may decide."""

    amount: int
    reason: str


class Refund(BaseModel):
    """What leaves, and what is approved: so many cents of this charge."""

    request_number: str
    charge: Annotated[str, Target()]
    amount: Annotated[int, Money("USD")]


class RefundReceipt(Receipt):
    """The provider's answer; a person who resolves a doubt may know no more than the reference."""

    amount: int | None = None


app = App("refunds")
app.receiver(
    "stripe", url=Env("STRIPE_URL", "https://api.stripe.com"), credential=Bearer(Env("STRIPE_KEY")), environment="test"
)
# The model is looked for when it is first asked: whoever reads or approves needs no provider's key.
refund_agent = Agent(
    "openai-chat:gpt-5",
    output_type=Choice,
    instructions="How much of this payment do we give back, and why?",
    defer_model_check=True,
)


async def find_refund(ask: Ask, refund: Refund) -> Seen[RefundReceipt]:
    """The refunds of this charge that carry our operation's id."""
    page = (await ask.http.get("/v1/refunds", params={"charge": refund.charge, "limit": 100})).json()
    ours = [item for item in page["data"] if item["metadata"].get("operation") == ask.operation_id]
    return Seen(
        [
            Found(
                RefundReceipt(reference=item["id"], amount=item["amount"]),
                payload=refund.model_copy(update={"amount": item["amount"]}),
            )
            for item in ours
        ],
        complete=not page["has_more"],
    )


@app.operation(
    receiver="stripe",
    contract=Contract(
        api_version="2020-08-27",
        key=IdempotencyKey(
            header="Idempotency-Key",
            retention=timedelta(hours=24),
            saves={"2xx", "4xx", "5xx"},
            other_body="rejects",
            replay_marker={"idempotent-replayed": "true"},
        ),
        classifier=[
            When(status=409).means("in_progress"),
            When(status=400, body={"error.type": "idempotency_error"}).means("key_mismatch"),
            When(status="5xx", header={"idempotent-replayed": "true"}).means("key_poisoned"),
            When(status="2xx").means("applied"),
            When(status={400, 402, 404}).means("refused"),
        ],
        lookup=Lookup(
            find_refund,
            consistency="strong",
            visible_within=timedelta(seconds=30),
            arrives_within=timedelta(minutes=5),
        ),
    ),
    business_key="request_number",
    review=ReviewBy(role="refund-approver", expires_in=timedelta(hours=8), owner="payments-oncall"),
)
async def create_refund(call: Call, refund: Refund) -> RefundReceipt:
    """One request under our key, which also carries our operation's id, so that a lookup finds it."""
    form = {"charge": refund.charge, "amount": refund.amount, "metadata[operation]": call.operation_id}
    reply = (await call.http.post("/v1/refunds", data=form)).json()
    return RefundReceipt(reference=reply["id"], amount=reply["amount"])


@step(retry=Retry(tries=3))
async def read_payment(request: RefundRequest) -> str:
    """What the model is told. A StepFailed is final; any other exception would be tried again."""
    if not request.charge.startswith("ch_"):
        raise StepFailed("no_such_charge", f"{request.charge!r} is not a charge")
    return f"charge {request.charge}; the customer wrote: {request.letter}"


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="payments-oncall"))
async def refund(run: Run, request: RefundRequest) -> RefundReceipt:
    """From a customer's letter to a receipt."""
    payment = await run.step(read_payment, request)
    choice = await run.decide(refund_agent, payment, prompt_version="2026-11")
    chosen = Refund(request_number=request.request_number, charge=request.charge, amount=choice.amount)
    return await run.perform(create_refund, chosen)
