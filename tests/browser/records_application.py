"""The application behind the record pages: documents, a decision with its cost, drafts, two approvals, and three receivers.

Not imported: it is written out. The clerk answers at once and names a price, so that no model is needed.
"""

SOURCE = """
import asyncio
from datetime import timedelta
from decimal import Decimal
from types import SimpleNamespace
from typing import Annotated
from pydantic import BaseModel
from counterfoil import (
    App, Ask, Budget, Call, Contract, Env, Found, IdempotencyKey, Lookup, Receipt, ReviewBy, ReviewRejected, Run, Seen, Target, When,
)

class Case(BaseModel):
    customer: Annotated[str, Target()]
    company: str = ""
    risk: str = "low"
    contacts: list[str] = []

class Clerk:
    name, model, output_type = "clerk", "clerk-1", Case

    async def run(self, prompt):
        await asyncio.sleep(0.06)
        asked = "revise" in prompt
        case = Case(customer="acme", company="Acme Logistics GmbH", risk="medium: two open invoices" if asked else "low",
                    contacts=["m.weber@acme.example", "desk@acme.example"] if asked else ["m.weber@acme.example"])
        price = SimpleNamespace(cost=lambda: SimpleNamespace(total_price=Decimal("0.0149")))
        usage = SimpleNamespace(requests=1, input_tokens=1318, output_tokens=96)
        return SimpleNamespace(output=case, usage=usage, response=price)

app = App("Harbour House")
for name in ("crm", "post", "parcels"):
    app.receiver(name, url=Env(name.upper() + "_URL", "http://127.0.0.1:1"), environment="test")
SHORT = timedelta(milliseconds=200)
YES = [When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24), other_body="rejects", saves={"2xx"})
MANAGER = ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="sales-lead")
BUDGET = Budget(attempts=6, elapsed=timedelta(days=2), spend_usd=1, owner="desk")

@app.operation(receiver="crm", contract=Contract(api_version="1", duplicate="costly", key=KEY, classifier=YES), business_key="customer",
               review=MANAGER)
async def create_case(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="crm", contract=Contract(api_version="1", duplicate="costly", key=KEY, classifier=YES), business_key="customer",
               review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="sales-lead", approvals=2))
async def create_contract(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/contracts", json=case.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="post", business_key="customer", owner="desk",
               contract=Contract(api_version="1", classifier=YES, procedure="Ask the post office for the letter's number. "
                                 "They have it: it succeeded. They do not after a day: it failed."))
async def send_letter(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/letters", json=case.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="post", business_key="customer", owner="desk", contract=Contract(api_version="1", classifier=YES,
               procedure="Ask the post office."), review=MANAGER)
async def send_notice(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/notices", json=case.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

async def find_parcel(ask: Ask, case: Case) -> Seen[Receipt]:
    page = (await ask.http.get("/parcels", params={"reference": ask.operation_id})).json()
    found = [Found(Receipt(reference=item["id"]), payload=Case(**item["payload"])) for item in page["data"]]
    return Seen(found, complete=not page["has_more"])

@app.operation(receiver="parcels", business_key="customer", owner="desk",
               contract=Contract(api_version="1", duplicate="costly", classifier=YES, lookup=Lookup(find_parcel, consistency="strong",
                                 visible_within=SHORT, arrives_within=SHORT, pause=SHORT)))
async def send_parcel(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/parcels", json=case.model_dump(), headers={"Counterfoil-Operation": call.operation_id})
    return Receipt(reference=str(reply.json()["id"]))

async def read_letters(customer: str) -> str:
    await asyncio.sleep(0.12)
    return f"Letters of {customer}: two invoices are open."

@app.workflow(version=1, budget=BUDGET)
async def onboard(run: Run, case: Case) -> Receipt:
    sources = [await app.artifacts.save(b"two invoices are open", name="invoices.txt")]
    await run.message("user", "Please open a case for " + case.customer + ".")
    text = await run.step(read_letters, case.customer)
    await run.document("summary", text)
    drafted = await run.decide(Clerk(), text, prompt_version="2026-11")
    await run.document("summary", text + "\\nRisk as decided: " + drafted.risk)
    await run.message("agent", "I propose a case for " + drafted.company + ".")
    proposal = None
    while True:
        named = drafted.model_copy(update={"customer": case.customer})
        proposal = await run.propose(create_case, named, replaces=proposal, sources=sources)
        try:
            return await run.perform(create_case, proposal)
        except ReviewRejected as rejected:
            if not rejected.ask_revision:
                raise
            drafted = await run.revise(Clerk(), "revise: " + rejected.comment, prompt_version="2026-11", reason=rejected.comment)

@app.workflow(version=1, budget=BUDGET)
async def sign(run: Run, case: Case) -> Receipt:
    return await run.perform(create_contract, case)

@app.workflow(version=1, budget=BUDGET)
async def notice(run: Run, case: Case) -> Receipt:
    return await run.perform(send_notice, case)

@app.workflow(version=1, budget=BUDGET)
async def letter(run: Run, case: Case) -> Receipt:
    return await run.perform(send_letter, case)

@app.workflow(version=1, budget=BUDGET)
async def parcel(run: Run, case: Case) -> Receipt:
    return await run.perform(send_parcel, case)

async def count(n: int) -> int:
    return n

@app.workflow(version=1, budget=BUDGET)
async def long(run: Run, case: Case) -> int:
    for n in range(2000):
        await run.step(count, n)
    return 2000
"""
