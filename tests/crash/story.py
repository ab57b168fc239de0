"""The application of the crash tests: one workflow that passes every boundary, three kinds of receivers, and their people."""

import asyncio
import json
import os
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from signal import SIGSTOP
from typing import Any

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
    Receipt,
    Retry,
    ReviewBy,
    Run,
    Seen,
    SharedBudget,
    StepFailed,
    When,
    step,
)
from counterfoil.model.contract_parts import Reference
from counterfoil.testing.clock import SharedClock

DAY = timedelta(days=1)
NOTHING = timedelta(0)
REFERENCE = Reference(header="Counterfoil-Operation")
ANSWERS = [
    When(status=409).means("in_progress"),
    When(status="2xx").means("applied"),
    When(status={400, 422}).means("refused"),
]
LOAD = Budget(attempts=20, elapsed=2 * DAY, spend_usd=5, calls={"read_order": 9}, owner="lead")


class Order(BaseModel):
    number: str
    amount: int


class Advice(BaseModel):
    amount: int
    call: int


class Go(BaseModel):
    word: str


class Outcome(BaseModel):
    read: str
    advice: Advice
    booked: str
    again: str
    posted: str
    mailed: str
    word: str
    part: str
    repaired: str


app = App("crash")
# Enough for all: what is drawn, held, given back and lost at each death is rebuilt from the journal.
app.budget(SharedBudget(name="a day", scope="business_day", attempts=500, tokens=10**7, spend_usd=99, owner="lead"))
for receiver in ("key", "lookup", "none"):
    app.receiver(receiver, url=Env(f"STORY_{receiver.upper()}"), environment="test")


def folder() -> Path:
    return Path(os.environ["STORY_FOLDER"])


def counted(name: str) -> int:
    """One more line in a file: how often user code ran, whatever was recorded of it."""
    with (folder() / name).open("a+") as file:
        file.write(f"{os.getpid()}\n")
        file.flush()
        file.seek(0)
        return len(file.readlines())


async def find(ask: Ask, order: Order) -> Seen[Receipt]:
    page = (await ask.http.get("/cases", params={"reference": ask.operation_id})).json()
    records = [Found(Receipt(reference=r["id"]), payload=Order(**r["payload"])) for r in page["data"]]
    return Seen(records, complete=not page["has_more"])


KEY = Contract(
    api_version="1",
    classifier=ANSWERS,
    duplicate="costly",
    reference=REFERENCE,
    request_timeout=timedelta(seconds=5),
    key=IdempotencyKey(
        header="Idempotency-Key",
        retention=DAY,
        saves={"2xx", "4xx", "5xx"},
        other_body="rejects",
        arrives_within=timedelta(minutes=5),
    ),
)
LOOKUP = Contract(
    api_version="1",
    classifier=ANSWERS,
    duplicate="costly",
    reference=REFERENCE,
    request_timeout=timedelta(seconds=5),
    lookup=Lookup(
        find, consistency="strong", visible_within=NOTHING, arrives_within=NOTHING, finds_by="operation_id",
        pause=timedelta(seconds=1),
    ),
)  # fmt: skip
NONE = Contract(
    api_version="1",
    classifier=ANSWERS,
    reference=REFERENCE,
    procedure="Ask the mail desk.",
    request_timeout=timedelta(seconds=5),
)


@app.operation(
    receiver="key",
    contract=KEY,
    business_key="number",
    review=ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead"),
)
async def book(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="lookup", contract=LOOKUP, business_key="number", owner="lead")
async def post(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="none", contract=NONE, business_key="number", owner="lead")
async def mail(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(receiver="key", contract=KEY, business_key="number", owner="lead")
async def note(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/cases", json=order.model_dump())
    return Receipt(reference=reply.json()["id"])


class Adviser:
    """A model that never answers the same twice."""

    name = "adviser"
    output_type = Advice

    async def run(self, prompt: str) -> Any:
        class Result:
            output = Advice(amount=40, call=counted("model"))

        assert prompt
        return Result()


@step(retry=Retry(tries=3, pause=timedelta(milliseconds=1)))
async def read_order(order: Order) -> str:
    if counted("read") == 1:
        raise OSError("the first try fails")
    return f"order {order.number}"


async def repaired() -> str:
    if not (folder() / "repaired").exists():
        raise StepFailed("broken", "somebody must repair it")
    return "repaired"


async def long() -> str:
    """As long as a third of the lease, and then until the lease was renewed."""
    renewed, loop = asyncio.Event(), asyncio.get_running_loop()

    def seen(when: str, names: Sequence[str]) -> None:
        if when == "after" and "lease.renewed" in names:
            loop.call_soon_threadsafe(renewed.set)

    app.boundaries.observers.append(seen)
    assert isinstance(app.clock, SharedClock)
    app.clock.advance(timedelta(seconds=11))
    await renewed.wait()
    app.boundaries.observers.remove(seen)
    return "long"


@app.workflow(version=1, budget=LOAD)
async def part(run: Run, order: Order) -> str:
    await run.sleep(timedelta(milliseconds=5))
    return f"part of {order.number}"


@app.workflow(version=1, budget=LOAD)
async def waiter(run: Run, order: Order) -> str:
    return (await run.wait_for("never", Go, within=DAY)).word


@app.workflow(version=1, budget=LOAD)
async def everything(run: Run, order: Order) -> Outcome:
    read = await run.step(read_order, order)
    advice = await run.decide(Adviser(), read, prompt_version="1")
    await run.message("agent", f"I propose {advice.amount}.")
    await run.document("notes", read)
    await run.sleep(timedelta(milliseconds=5))
    wanted = Order(number=order.number, amount=advice.amount)
    booked = await run.perform(book, await run.propose(book, wanted))
    again = await run.perform(book, wanted)
    posted = await run.perform(post, wanted)
    mailed = await run.perform(mail, wanted)
    go = await run.wait_for("go", Go, within=timedelta(hours=1))
    child = await run.child(part, order, request_id=f"part of {order.number}")
    fixed = await run.step(repaired)
    await run.step(long)
    return Outcome(
        read=read, advice=advice, booked=booked.reference, again=again.reference, posted=posted.reference,
        mailed=mailed.reference, word=go.word, part=child, repaired=fixed,
    )  # fmt: skip


@app.workflow(version=1, budget=LOAD)
async def single(run: Run, order: Order) -> str:
    """One operation under a key, between two steps."""
    await run.step(mark, "before")
    noted = await run.perform(note, order)
    await run.step(mark, "after")
    return noted.reference


@app.workflow(version=1, budget=LOAD)
async def single_lookup(run: Run, order: Order) -> str:
    await run.step(mark, "before")
    posted = await run.perform(post, order)
    await run.step(mark, "after")
    return posted.reference


@app.workflow(version=1, budget=LOAD)
async def single_none(run: Run, order: Order) -> str:
    await run.step(mark, "before")
    mailed = await run.perform(mail, order)
    await run.step(mark, "after")
    return mailed.reference


async def mark(name: str) -> int:
    return counted(name)


@app.workflow(version=1, budget=LOAD)
async def freezing(run: Run, order: Order) -> int:
    return await run.step(freeze, order.number)


async def freeze(number: str) -> int:
    """Freezes its process the first time."""
    times = counted("freeze")
    if times == 1:
        os.kill(os.getpid(), SIGSTOP)
    return times


def records(receiver: str) -> list[dict[str, Any]]:
    """What the receiver itself has written down of this test: its own file, not what it says."""
    path = os.environ[f"STORY_{receiver.upper()}"].rpartition("/")[2]
    lines = Path(os.environ[f"STORY_{receiver.upper()}_RECORDS"]).read_text().splitlines()
    return [record for record in map(json.loads, lines) if record["path"].startswith(f"/{path}/")]
