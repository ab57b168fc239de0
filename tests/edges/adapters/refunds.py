"""The application that every adapter is drilled with: one refund at one bank, with and without a review."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from counterfoil import App, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, When
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.testing.bench_child import place

SECRET, SALT = "counted", "c0"
PEOPLE = tuple(NewPerson(name, ("approver", "desk"), hashed(SECRET, SALT)) for name in ("ana", "oscar"))

app = App("refunds")
app.receiver("bank", url=Env("BANK_URL", "http://127.0.0.1:9"), environment="test")
CONTRACT = Contract(
    api_version="1",
    key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx", "4xx", "5xx"}, other_body="rejects"),
    classifier=[When(status="2xx").means("applied"), When(status={400, 402, 422}).means("refused")],
)  # fmt: skip


class Refund(BaseModel):
    number: str
    amount: int


async def _pay(call: Call, refund: Refund) -> Receipt:
    reply = await call.http.post("/refunds", json=refund.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="bank", contract=CONTRACT, business_key="number", owner="desk")
async def refund(call: Call, refund: Refund) -> Receipt:
    """Give money back."""
    return await _pay(call, refund)


@app.operation(
    receiver="bank", contract=CONTRACT, business_key="number",
    review=ReviewBy(role="approver", expires_in=timedelta(hours=8), owner="desk"),
)  # fmt: skip
async def reviewed_refund(call: Call, refund: Refund) -> Receipt:
    """Give money back, when a person has approved it."""
    return await _pay(call, refund)


OPERATIONS = {"refund": refund, "reviewed_refund": reviewed_refund}

Say = Callable[[object], None]


def found(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Make the database and its people."""
    place(app, arguments, say)
    app.open(Founding(people=PEOPLE))
    app.close()


def approve(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Ana approves the one review that is open."""
    place(app, arguments, say)
    (review,) = app.reviews.list(state="open")["items"]
    asyncio.run(app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET))
    app.close()
