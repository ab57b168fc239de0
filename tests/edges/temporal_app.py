"""An application whose workflows are executed by Temporal in the tests. What a redeployment would change is read from `changed`."""

import asyncio
from datetime import timedelta
from typing import Any

from pydantic import BaseModel
from temporalio.workflow import patched

from counterfoil import (
    App,
    Budget,
    Call,
    Contract,
    Env,
    IdempotencyKey,
    OperationFailed,
    Owner,
    Receipt,
    ReviewBy,
    ReviewRejected,
    Run,
    StepFailed,
    TimedOut,
    When,
    step,
)

ANSWERS = [When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="desk")
changed: dict[str, Any] = {}


class Case(BaseModel):
    customer: str
    note: str = ""


class Go(BaseModel):
    word: str


app = App("on-temporal")
app.receiver("crm", url=Env("CRM_URL"), environment="test")


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1",
        key=IdempotencyKey(
            header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx", "4xx", "5xx"}, other_body="rejects"
        ),
        classifier=[When(status=409).means("in_progress"), *ANSWERS],
        request_timeout=timedelta(seconds=20),
    ),
    business_key="customer",
    owner="desk",
)
async def create(call: Call, case: Case) -> Receipt:
    """At a CRM that honours a key."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1", classifier=ANSWERS, procedure="Look for the customer.", request_timeout=timedelta(seconds=2)
    ),
    business_key="customer",
    owner="desk",
)
async def create_blindly(call: Call, case: Case) -> Receipt:
    """At a CRM with neither key nor lookup."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1", key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)), classifier=ANSWERS
    ),
    business_key="customer",
    review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner=Owner("desk", within=timedelta(hours=4))),
)
async def create_reviewed(call: Call, case: Case) -> Receipt:
    """After a manager's approval."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.workflow(version=1, budget=BUDGET)
async def once(run: Run, case: Case) -> Receipt:
    return await run.perform(create, case)


@app.workflow(version=1, budget=BUDGET)
async def reviewed(run: Run, case: Case) -> Receipt:
    return await run.perform(create_reviewed, case)


@app.workflow(version=1, budget=BUDGET)
async def revised(run: Run, case: Case) -> int:
    """Until somebody approves it. Gives the version that was approved."""
    proposal = None
    while True:
        proposal = await run.propose(create_reviewed, case, replaces=proposal)
        try:
            await run.perform(create_reviewed, proposal)
            return proposal.version
        except ReviewRejected as rejected:
            case = Case(customer=case.customer, note=rejected.comment)


@app.workflow(version=1, budget=BUDGET)
async def twice(run: Run, case: Case) -> str:
    """Two writes, and somebody's word between them."""
    if "step" in changed:
        await run.step(added, case.customer)  # code of a later deployment
    first = await run.perform(create, Case(customer=case.customer, note=changed.get("note", case.note)))
    word = (await run.wait_for("go", Go, within=timedelta(hours=1))).word
    second = await run.perform(create, Case(customer=f"{case.customer}-{word}"))
    return f"{first.reference} {second.reference}"


@app.workflow(version=1, budget=BUDGET)
async def stumbles(run: Run, case: Case) -> str:
    """Its code fails after the write, until it is corrected."""
    receipt = await run.perform(create, Case(customer=case.customer, note=changed.get("note", case.note)))
    if changed.get("stumble"):
        changed["stumble"] -= 1
        raise ValueError("it stumbled")
    return receipt.reference


@app.workflow(version=1, budget=BUDGET)
async def both(run: Run, case: Case) -> list[Receipt]:
    """A doubt in one branch, and a write in the other that comes after it."""

    async def after() -> Receipt:
        await run.wait_for("go", Go, within=timedelta(hours=1))
        return await run.perform(create, Case(customer=f"{case.customer}-after"))

    return await run.gather(run.perform(create_blindly, case), after())


async def added(text: str) -> str:
    return text


async def count(number: int) -> int:
    changed["counted"] = changed.get("counted", 0) + 1
    return number + 1


@step(name="says no")
async def refuse(reason: str) -> str:
    raise StepFailed("said_no", reason)


@app.workflow(version=1, budget=BUDGET)
async def stubborn(run: Run, case: Case) -> str:
    """A write, and a step that fails for good until its cause is corrected."""
    await run.perform(create, case)
    return await run.step(allowed, case.customer)


async def allowed(customer: str) -> str:
    changed["asked"] = changed.get("asked", 0) + 1
    if changed.get("forbidden"):
        raise StepFailed("forbidden", customer)
    return "allowed"


@app.workflow(version=1, budget=BUDGET)
async def long(run: Run, case: Case) -> int:
    """Many steps, and a write in the middle."""
    number = 0
    for _ in range(12):
        number = await run.step(count, number)
        if number == 6:
            await run.perform(create, case)
    return number


@app.workflow(version=1, budget=BUDGET)
async def half(run: Run, case: Case) -> str:
    """A child: one write."""
    return (await run.perform(create, case)).reference


@app.workflow(version=1, budget=BUDGET)
async def asks(run: Run, case: Case) -> str:
    """A child: one write, after a manager's approval."""
    return (await run.perform(create_reviewed, case)).reference


@app.workflow(version=1, budget=BUDGET)
async def parent(run: Run, case: Case) -> str:
    """It begins a run, and waits for it."""
    return await run.child(asks, case, request_id=f"{case.customer}-child")


@app.workflow(version=1, budget=BUDGET)
async def family(run: Run, case: Case) -> str:
    """A child, and then somebody's word."""
    reference = await run.child(half, case, request_id=f"{case.customer}-child")
    await run.wait_for("go", Go, within=timedelta(hours=1))
    return reference


@app.workflow(version=1, budget=BUDGET)
async def heard(run: Run, case: Case) -> str:
    """A long history, and a word that was said at its beginning."""
    for number in range(4):
        await run.step(count, number)
    return (await run.wait_for("go", Go, within=timedelta(hours=1))).word


@app.workflow(version=1, budget=BUDGET)
async def in_time(run: Run, case: Case) -> str:
    """What was too late stays too late when the record answers."""
    try:
        async with run.timeout(timedelta(milliseconds=30)):
            told = (await run.perform(create, case)).reference
    except TimedOut:
        told = "too late"
    for number in range(2):
        await run.step(count, number)
    return told


@app.workflow(version=1, budget=BUDGET)
async def grouped(run: Run, case: Case) -> str:
    """A task group wraps whatever ends its parts."""
    async with asyncio.TaskGroup() as group:
        part = group.create_task(run.perform(create_reviewed, case))
    return part.result().reference


@app.workflow(version=1, budget=BUDGET)
async def mended(run: Run, case: Case) -> str:
    """Code that was mended while runs of it were under way, as Temporal means it. `changed["before"]`: the code as it was."""
    if "before" not in changed and patched("checks first"):
        await run.step(added, case.customer)
    first = await run.perform(create, case)
    await run.wait_for("go", Go, within=timedelta(hours=1))
    second = await run.perform(create, Case(customer=f"{case.customer}-2"))
    return f"{first.reference} {second.reference}"


@app.workflow(version=1, budget=BUDGET)
async def everything(run: Run, case: Case) -> dict[str, Any]:
    """Each call of the port once, as far as it says the same on every engine."""
    told: dict[str, Any] = {}
    try:
        await run.step(refuse, "no")
    except StepFailed as failure:
        told["failure"] = [failure.code, failure.message]
    await run.sleep(timedelta(milliseconds=10))
    try:
        async with run.timeout(timedelta(milliseconds=50)):
            await run.wait_for("never", Go, within=timedelta(hours=1))
    except TimedOut:
        told["timed_out"] = True
    try:
        await run.wait_for("neither", Go, within=timedelta(milliseconds=20))
    except TimedOut:
        told["no_signal"] = True
    told["gathered"] = await run.gather(*(run.step(count, number) for number in range(3)))
    beside = run.branch(run.step(count, 10))
    told["branch"] = await beside
    proposal = await run.propose(create, Case(customer=f"{case.customer}-proposed"))
    told["version"] = proposal.version
    await run.perform(create, proposal)
    try:
        await run.perform(create, Case(customer="refuse-me"))
    except OperationFailed as failed:
        told["refused"] = failed.code
    await run.child(half, Case(customer=f"{case.customer}-child"), request_id=f"{case.customer}-child")
    await run.message("agent", "It is done.")
    await run.document("notes", "as agreed")
    told["drawn"] = [len(str(run.uuid())), 0 <= run.random() < 1, run.now().tzinfo is not None]
    return told
