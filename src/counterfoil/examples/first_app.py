"""Your first operation under the ledger. Its receiver: counterfoil sandbox --kind key --port 8765"""

from datetime import timedelta

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, Run, When


class Order(BaseModel):
    number: str
    item: str


app = App("example")
app.receiver("shop", url=Env("SHOP_URL", "http://127.0.0.1:8765"), environment="test")


@app.operation(
    receiver="shop",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
        classifier=[When(status="2xx").means("applied"), When(status={400, 422}).means("refused")],
    ),
    business_key="number",
    review=ReviewBy(role="buyer", expires_in=timedelta(hours=8), owner="buying-lead"),
)
async def place_order(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/orders", json=order.model_dump())
    return Receipt(reference=str(reply.json()["id"]))


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="buying-lead"))
async def buy(run: Run, order: Order) -> Receipt:
    return await run.perform(place_order, order)
