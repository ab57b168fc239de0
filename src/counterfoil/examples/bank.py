"""One refund at one bank, with and without a review: what the recipes of docs/beside.md perform beside other engines."""

from datetime import timedelta

from pydantic import BaseModel

from counterfoil import App, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, When

app = App("refunds")
app.receiver("bank", url=Env("BANK_URL", "http://127.0.0.1:9"), environment="test")
CONTRACT = Contract(
    api_version="1",
    key=IdempotencyKey(
        header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx", "4xx", "5xx"}, other_body="rejects"
    ),
    classifier=[When(status="2xx").means("applied"), When(status={400, 402, 422}).means("refused")],
)
REVIEW = ReviewBy(role="approver", expires_in=timedelta(hours=8), owner="desk")


class Refund(BaseModel):
    """What is given back, and for what: the number is the intention's own."""

    number: str
    amount: int


async def _pay(call: Call, given: Refund) -> Receipt:
    reply = await call.http.post("/refunds", json=given.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="bank", contract=CONTRACT, business_key="number", owner="desk")
async def refund(call: Call, given: Refund) -> Receipt:
    """Give money back."""
    return await _pay(call, given)


@app.operation(receiver="bank", contract=CONTRACT, business_key="number", review=REVIEW)
async def reviewed_refund(call: Call, given: Refund) -> Receipt:
    """Give money back, when a person has approved it."""
    return await _pay(call, given)
