"""One reviewed write, for the test of a server's roles."""

from datetime import timedelta

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Owner, Receipt, ReviewBy, Run, When

app = App("roles")
app.receiver("crm", url=Env("CRM_URL"), environment="test")
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))


class Order(BaseModel):
    number: str


@app.operation(
    receiver="crm",
    contract=Contract(api_version="1", key=KEY, classifier=[When(status="2xx").means("applied")]),
    business_key="number",
    review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner=Owner("lead", within=timedelta(hours=4))),
)
async def create_case(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=1, owner="lead"))
async def asking(run: Run, order: Order) -> Receipt:
    return await run.perform(create_case, order)
