"""The application that the browser tests look at: one way into each state that a page shows. Not imported: it is written out."""

SOURCE = """
from datetime import timedelta
from typing import Annotated
from pydantic import BaseModel
from counterfoil import (
    App, Ask, Budget, Call, Contract, Env, Found, IdempotencyKey, Lookup, Money, Receipt, Retry, ReviewBy, Run, Seen, SignedBy,
    StepFailed, Target, When, step,
)
from counterfoil.model.contract import Webhook

class Order(BaseModel):
    number: str
    item: str = "tea"

class Refund(BaseModel):
    number: str
    charge: Annotated[str, Target()]
    amount: Annotated[int, Money("EUR")]

app = App("Harbour House")
app.receiver("shop", url=Env("SHOP_URL", "http://127.0.0.1:1"), environment="test")
app.receiver("post", url=Env("POST_URL", "http://127.0.0.1:1"), environment="test", webhook=SignedBy("github", Env("HOOK", "hook")))
app.receiver("parcels", url=Env("PARCELS_URL", "http://127.0.0.1:1"), environment="test")
SHORT = timedelta(milliseconds=200)
YES = [When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))

@app.operation(receiver="shop", contract=Contract(api_version="1", duplicate="costly", key=KEY, classifier=YES), business_key="number",
               review=ReviewBy(role="buyer", expires_in=timedelta(hours=8), owner="buying-lead"))
async def place_order(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/orders", json=order.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="post", business_key="number", owner="desk",
               contract=Contract(api_version="1", classifier=YES, request_timeout=timedelta(seconds=1),
                                 receipts=[Webhook(type="sent", operation="letter", dedupe="id")],
                                 procedure="Ask the post office for the letter's number. "
                                 "They have it: it succeeded. They do not after a day: it failed."))
async def send_letter(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/letters", json=order.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="post", business_key="number", owner="desk",
               contract=Contract(api_version="1", classifier=YES, request_timeout=timedelta(seconds=1), procedure="Ask the bank."))
async def pay_back(call: Call, refund: Refund) -> Receipt:
    reply = await call.http.post("/refunds", json=refund.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

async def find_parcel(ask: Ask, order: Order) -> Seen[Receipt]:
    page = (await ask.http.get("/parcels", params={"reference": ask.operation_id})).json()
    found = [Found(Receipt(reference=item["id"]), payload=Order(**item["payload"])) for item in page["data"]]
    return Seen(found, complete=not page["has_more"])

@app.operation(receiver="parcels", business_key="number", owner="desk",
               contract=Contract(api_version="1", duplicate="costly", classifier=YES, lookup=Lookup(find_parcel, consistency="strong",
                                 visible_within=SHORT, arrives_within=SHORT, pause=SHORT)))
async def send_parcel(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/parcels", json=order.model_dump(), headers={"Counterfoil-Operation": call.operation_id})
    return Receipt(reference=str(reply.json()["id"]))

@step(retry=Retry(tries=1))
async def impossible(order: Order) -> str:
    raise StepFailed("impossible", "there is no such order")

BUDGET = Budget(attempts=2, elapsed=timedelta(days=2), spend_usd=1, owner="desk")

@app.workflow(version=1, budget=BUDGET)
async def buy(run: Run, order: Order) -> Receipt:
    return await run.perform(place_order, order)

@app.workflow(version=1, budget=BUDGET)
async def letter(run: Run, order: Order) -> Receipt:
    return await run.perform(send_letter, order)

@app.workflow(version=1, budget=BUDGET)
async def payback(run: Run, order: Order) -> Receipt:
    refund = Refund(number=order.number, charge=f"charge {order.number}", amount=int(order.number) * 5)
    return await run.perform(pay_back, refund)

@app.workflow(version=1, budget=BUDGET)
async def parcel(run: Run, order: Order) -> Receipt:
    return await run.perform(send_parcel, order)

@app.workflow(version=1, budget=BUDGET)
async def broken(run: Run, order: Order) -> str:
    return await run.step(impossible, order)

@app.workflow(version=1, budget=BUDGET)
async def waits(run: Run, order: Order) -> str:
    return await run.wait_for("go", str, within=timedelta(hours=1))
"""
