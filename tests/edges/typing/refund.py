"""The refund, as a user writes it."""

from datetime import timedelta

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
    Receipt,
    Retry,
    ReviewBy,
    Run,
    Seen,
    StepFailed,
    When,
    step,
)


class RefundRequest(BaseModel):  # trusted input: the business key comes from here, not from the model
    request_number: str
    charge: str
    letter: str


class Choice(BaseModel):  # what the model may decide
    amount: int
    reason: str


class Refund(BaseModel):  # what leaves, and what is approved
    request_number: str
    charge: str
    amount: int


class RefundReceipt(Receipt):
    amount: int | None = None


app = App("refunds")
app.receiver(
    "stripe", url=Env("STRIPE_URL", "https://api.stripe.com"), credential=Bearer(Env("STRIPE_KEY")), environment="test"
)
refund_agent = Agent(
    "openai:gpt-5", output_type=Choice, instructions="How much of this payment do we give back, and why?"
)


async def find_refund(ask: Ask, refund: Refund) -> Seen[RefundReceipt]:
    page = (await ask.http.get("/v1/refunds", params={"charge": refund.charge, "limit": 100})).json()
    ours = [r for r in page["data"] if r["metadata"].get("operation") == ask.operation_id]
    return Seen(
        [
            Found(
                RefundReceipt(reference=r["id"], amount=r["amount"]),
                payload=refund.model_copy(update={"amount": r["amount"]}),
            )
            for r in ours
        ],
        complete=not page["has_more"],
    )


@app.operation(
    receiver="stripe",
    contract=Contract(
        api_version="2020-08-27",
        key=IdempotencyKey(
            header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx", "4xx", "5xx"}, other_body="rejects"
        ),
        classifier=[
            When(status=409).means("in_progress"),
            When(status=400, body={"error.type": "idempotency_error"}).means("key_mismatch"),
            When(status="5xx", header={"idempotent-replayed": "true"}).means("key_poisoned"),
            When(status="2xx").means("applied"),
            When(status={400, 402, 404}).means("refused"),
        ],
        lookup=Lookup(
            find_refund, consistency="strong", visible_within=timedelta(seconds=30), arrives_within=timedelta(minutes=5)
        ),
    ),
    business_key="request_number",
    review=ReviewBy(role="refund-approver", expires_in=timedelta(hours=8), owner="payments-oncall"),
)
async def create_refund(call: Call, refund: Refund) -> RefundReceipt:
    reply = await call.http.post(
        "/v1/refunds", data={"charge": refund.charge, "amount": refund.amount, "metadata[operation]": call.operation_id}
    )
    return RefundReceipt(reference=reply.json()["id"], amount=reply.json()["amount"])


@step(retry=Retry(tries=3))
async def read_payment(request: RefundRequest) -> str:
    if not request.charge.startswith("ch_"):
        raise StepFailed(
            "no_such_charge", f"{request.charge!r} is not a charge"
        )  # final; any other exception is tried again
    return f"charge {request.charge}; the customer wrote: {request.letter}"


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=3, owner="payments-oncall"))
async def refund(run: Run, request: RefundRequest) -> RefundReceipt:
    payment = await run.step(read_payment, request)
    choice = await run.decide(refund_agent, payment, prompt_version="2026-11")
    return await run.perform(
        create_refund, Refund(request_number=request.request_number, charge=request.charge, amount=choice.amount)
    )
