"""The application of the battery: a receiver of each kind, and an operation for each way of being protected at it."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from pydantic import BaseModel

from counterfoil.app.application import App
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Call
from counterfoil.model.budget import Budget
from counterfoil.model.contract import Contract, Reference, When
from counterfoil.model.contract_parts import Found, IdempotencyKey, Lookup, Seen
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy
from counterfoil.testing.sandbox.contract import SandboxContract

DAY, SECOND = timedelta(days=1), timedelta(seconds=1)
HIDDEN = timedelta(minutes=20)  # how long a receiver that can be asked may not show what it has
OWNER = "duty"
BUDGET = Budget(attempts=4, elapsed=2 * DAY, spend_usd=1, owner=OWNER)
ANSWERS = [
    When(status=409).means("in_progress"),
    When(status="2xx").means("applied"),
    When(status={400, 422}).means("refused"),
]


class Order(BaseModel):
    """The input of every workflow, and what the operations write."""

    number: str
    amount: int


async def find(ask: Any, order: Order) -> Seen[Receipt]:
    """By our reference. The receiver shows a record late."""
    page = (await ask.http.get("/orders", params={"reference": ask.operation_id})).json()
    records = [Found(Receipt(reference=r["id"]), payload=Order(**r["payload"])) for r in page["data"]]
    return Seen(records, complete=not page["has_more"])


UNKNOWABLE = Contract(
    api_version="1",
    classifier=ANSWERS,
    reference=Reference(header="Counterfoil-Operation"),
    request_timeout=5 * SECOND,
    procedure="Ask the desk of the receiver.",
)
KEY = IdempotencyKey(
    header="Idempotency-Key", retention=DAY, saves={"2xx", "4xx", "5xx"}, other_body="rejects", arrives_within=SECOND
)
KEYED = replace(UNKNOWABLE, key=KEY)
LOOKUP = Lookup(
    find, consistency="strong", visible_within=HIDDEN, arrives_within=SECOND, finds_by="operation_id", pause=SECOND
)
ASKED = replace(UNKNOWABLE, lookup=LOOKUP)
KEYED_BY_CONTENT = replace(ASKED, key=replace(KEY, other_body="identity"))

app = App("battery")
for name in ("key", "content", "lookup", "none"):
    app.receiver(name, url=Env(f"BATTERY_{name.upper()}"), environment="test")

LATE = SandboxContract(kind="late", lookup_lag_seconds=HIDDEN.total_seconds() / 2)
SANDBOXES: dict[str, str | SandboxContract] = {
    "key": "key",
    "content": replace(LATE, other_body="part_of_identity"),
    "lookup": replace(LATE, key_header=None),
    "none": "none",
}
REVIEW = ReviewBy(role="approver", expires_in=timedelta(hours=8), owner=OWNER)


async def _posted(call: Call, body: dict[str, Any]) -> Receipt:
    reply = await call.http.post("/orders", json=body)
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="key", contract=KEYED, repeatable=True, owner=OWNER)
async def note(call: Call, order: Order) -> Receipt:
    """A key, and no name for the intention: only its identity keeps it single."""
    return await _posted(call, order.model_dump())


@app.operation(receiver="key", contract=KEYED, business_key="number", owner=OWNER)
async def book(call: Call, order: Order) -> Receipt:
    """A key, and a business key."""
    return await _posted(call, order.model_dump())


@app.operation(receiver="key", contract=KEYED, business_key="number", review=REVIEW)
async def pay(call: Call, order: Order) -> Receipt:
    """A key, a business key and a review."""
    return await _posted(call, order.model_dump())


@app.operation(receiver="key", contract=KEYED, repeatable=True, review=REVIEW)
async def tip(call: Call, order: Order) -> Receipt:
    """Reviewed each time, and the same may be meant twice."""
    return await _posted(call, order.model_dump())


@app.operation(receiver="content", contract=KEYED_BY_CONTENT, business_key="number", owner=OWNER)
async def vary(call: Call, order: Order) -> Receipt:
    """Its bytes change from try to try, at a receiver where other bytes under a key are another effect. It can be asked."""
    return await _posted(call, order.model_dump() | ({} if call.attempt == 1 else {"attempt": call.attempt}))


@app.operation(receiver="lookup", contract=ASKED, business_key="number", owner=OWNER)
async def post(call: Call, order: Order) -> Receipt:
    """No key; the receiver can be asked, and shows late what it has."""
    return await _posted(call, order.model_dump())


@app.operation(receiver="none", contract=UNKNOWABLE, business_key="number", owner=OWNER)
async def mail(call: Call, order: Order) -> Receipt:
    """Neither key nor lookup."""
    return await _posted(call, order.model_dump())
