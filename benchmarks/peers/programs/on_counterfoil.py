"""The refund as a Counterfoil workflow: `python on_counterfoil.py FOLDER REQUEST CHARGE`, after `counterfoil init FOLDER`."""

import asyncio
import json
import os
import sys
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

import counterfoil as cf

FOUR_SECONDS = timedelta(seconds=4)


class Asked(BaseModel):
    request: str
    charge: str


class Refund(Asked):
    amount: int


app = cf.App("refunds", db=str(Path(sys.argv[1]) / "counterfoil.db"))
app.receiver("payments", url=cf.Env("RECEIVER"), environment="test")


async def find_refund(ask: cf.Ask, refund: Refund) -> cf.Seen[cf.Receipt]:
    page = (await ask.http.get("/refunds", params={"reference": ask.operation_id})).json()
    found = [cf.Found(cf.Receipt(reference=each["id"]), payload=Refund(**each["payload"])) for each in page["data"]]
    return cf.Seen(found, complete=not page["has_more"])


classifier = [
    cf.When(status=409).means("in_progress"),
    cf.When(status="2xx").means("applied"),
    cf.When(status={400, 422}).means("refused"),
]
if os.environ["RECEIVER_KIND"] == "key":
    kept = timedelta(seconds=float(os.environ["KEY_SECONDS"]))
    key = cf.IdempotencyKey(header="Idempotency-Key", retention=kept, saves={"2xx", "4xx", "5xx"}, other_body="rejects")
    contract = cf.Contract(api_version="1", classifier=classifier, key=key)
else:
    asks = cf.Lookup(find_refund, consistency="strong", visible_within=FOUR_SECONDS, arrives_within=FOUR_SECONDS)
    contract = cf.Contract(api_version="1", classifier=classifier, lookup=asks)


@app.operation(receiver="payments", contract=contract, business_key="request", owner="ana")
async def create_refund(call: cf.Call, refund: Refund) -> cf.Receipt:
    headers = {"Counterfoil-Operation": call.operation_id}
    reply = await call.http.post("/refunds", json=refund.model_dump(), headers=headers)
    return cf.Receipt(reference=reply.json()["id"])


def read_charge(charge: str) -> int:
    return json.loads(Path(os.environ["CHARGES"]).read_text())[charge]


@app.workflow(version=1, budget=cf.Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="ana"))
async def refund(run: cf.Run, asked: Asked) -> cf.Receipt:
    paid = await run.step(read_charge, asked.charge)
    return await run.perform(create_refund, Refund(request=asked.request, charge=asked.charge, amount=paid // 2))


async def main(request: str, charge: str) -> None:
    async with app.worker():
        submitted = await app.submit(refund, Asked(request=request, charge=charge), request_id=request)
        try:
            await submitted.result()
            print(json.dumps({"state": "done"}))
        except cf.Unresolved:
            print(json.dumps({"state": "waits for a person"}))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[2], sys.argv[3]))
