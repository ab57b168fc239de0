"""Workflows for the faults of delivery: every kind of contract, reviewed or not, revised or not."""

from datetime import timedelta

from pydantic import BaseModel

from counterfoil import (
    App,
    Ask,
    Budget,
    Call,
    Contract,
    Env,
    Found,
    IdempotencyKey,
    Lookup,
    Proposal,
    Receipt,
    ReviewBy,
    ReviewRejected,
    Run,
    Seen,
    When,
)
from counterfoil.model.contract_parts import Reference

REFERENCE = Reference(header="Counterfoil-Operation")
ANSWERS = [
    When(status=409).means("in_progress"),
    When(status="2xx").means("applied"),
    When(status=402, body={"error.type": "declined"}).means("refused"),
]
LOAD = Budget(attempts=20, elapsed=timedelta(days=20), spend_usd=5, owner="lead")


class Parcel(BaseModel):
    number: str
    weight: int


app = App("parcels")
for name in ("key", "lookup", "none", "both"):
    app.receiver(name, url=Env(f"PARCEL_{name.upper()}", "http://127.0.0.1:9"), environment="test")


async def find(ask: Ask, parcel: Parcel) -> Seen[Receipt]:
    page = (await ask.http.get("/parcels", params={"reference": ask.operation_id})).json()
    found = [Found(Receipt(reference=r["id"]), payload=Parcel(**r["payload"])) for r in page["data"]]
    return Seen(found, complete=not page["has_more"])


KEY = IdempotencyKey(
    header="Idempotency-Key",
    retention=timedelta(days=1),
    saves={"2xx", "4xx", "5xx"},
    other_body="rejects",
    replay_marker={"idempotent-replayed": "true"},
    arrives_within=timedelta(minutes=5),
)
LOOKUP = Lookup(
    find,
    consistency="strong",
    visible_within=timedelta(seconds=20),
    arrives_within=timedelta(seconds=10),
    finds_by="operation_id",
    pause=timedelta(seconds=1),
)


def contract(key: IdempotencyKey | None = None, lookup: Lookup | None = None) -> Contract:
    return Contract(
        api_version="1",
        classifier=ANSWERS,
        duplicate="costly",
        reference=REFERENCE,
        request_timeout=timedelta(seconds=20),
        key=key,
        lookup=lookup,
        procedure="Ask the post office.",
    )


REVIEW = ReviewBy(role="postmaster", expires_in=timedelta(hours=8), owner="lead")


@app.operation(receiver="key", contract=contract(KEY), business_key="number", owner="lead")
async def by_key(call: Call, parcel: Parcel) -> Receipt:
    return Receipt(reference=(await call.http.post("/parcels", json=parcel.model_dump())).json()["id"])


@app.operation(receiver="lookup", contract=contract(lookup=LOOKUP), business_key="number", owner="lead")
async def by_lookup(call: Call, parcel: Parcel) -> Receipt:
    return Receipt(reference=(await call.http.post("/parcels", json=parcel.model_dump())).json()["id"])


@app.operation(receiver="none", contract=contract(), business_key="number", owner="lead")
async def by_nothing(call: Call, parcel: Parcel) -> Receipt:
    return Receipt(reference=(await call.http.post("/parcels", json=parcel.model_dump())).json()["id"])


@app.operation(receiver="both", contract=contract(KEY, LOOKUP), business_key="number", review=REVIEW)
async def by_both(call: Call, parcel: Parcel) -> Receipt:
    return Receipt(reference=(await call.http.post("/parcels", json=parcel.model_dump())).json()["id"])


@app.workflow(version=1, budget=LOAD)
async def keyed(run: Run, parcel: Parcel) -> str:
    await run.step(weigh, parcel)
    return (await run.perform(by_key, parcel)).reference


@app.workflow(version=1, budget=LOAD)
async def looked_up(run: Run, parcel: Parcel) -> str:
    return (await run.perform(by_lookup, parcel)).reference


@app.workflow(version=1, budget=LOAD)
async def blind(run: Run, parcel: Parcel) -> str:
    return (await run.perform(by_nothing, parcel)).reference


@app.workflow(version=1, budget=LOAD)
async def reviewed(run: Run, parcel: Parcel) -> str:
    return (await run.perform(by_both, parcel)).reference


@app.workflow(version=1, budget=LOAD)
async def two_reviewed(run: Run, parcel: Parcel) -> str:
    await run.perform(by_both, parcel)
    return (await run.perform(by_both, parcel.model_copy(update={"number": f"{parcel.number}-b"}))).reference


@app.workflow(version=1, budget=LOAD)
async def revised(run: Run, parcel: Parcel) -> str:
    proposal: Proposal[Parcel, Receipt] | None = None
    while True:
        proposal = await run.propose(by_both, parcel, replaces=proposal)
        try:
            return (await run.perform(by_both, proposal)).reference
        except ReviewRejected as rejected:
            if not rejected.ask_revision:
                raise
            parcel = parcel.model_copy(update={"weight": parcel.weight + 1})


async def weigh(parcel: Parcel) -> int:
    return parcel.weight
