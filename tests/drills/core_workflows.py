"""Workflows for the core of the drills: one that is derived whole, and some that a drill must refuse or fail."""

from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, Run, StepFailed, When

LOAD = Budget(attempts=3, elapsed=timedelta(days=2), spend_usd=1, owner="lead")


class Letter(BaseModel):
    """What is sent."""

    number: str
    cents: int


class Given(BaseModel):
    """What a reminder waits for."""

    word: str


app = App("core")
app.receiver("desk", url=Env("DESK_URL"), environment="live")


@app.operation(
    receiver="desk",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
        classifier=[When(status="2xx").means("applied"), When(status={400, 422}).means("refused")],
    ),
    business_key="number",
    owner="lead",
)
async def file(call: Call, letter: Letter) -> Receipt:
    """Nobody is asked: it is unattended, and its receiver is live."""
    reply = await call.http.post("/letters", json=letter.model_dump())
    return Receipt(reference=str(reply.json()["id"]))


async def weigh(number: str) -> int:
    """A step."""
    return len(number)


@app.workflow(version=3, budget=LOAD)
async def write(run: Run, letter: Letter) -> Receipt:
    """Derived whole: its input from its type, its sandbox from its contract."""
    await run.step(weigh, letter.number)
    return await run.perform(file, letter)


@app.workflow(version=1, budget=LOAD)
async def remind(run: Run, letter: Letter) -> Receipt:
    """Waits for somebody's word: its scenario says who gives it."""
    given = await run.wait_for("word", Given, within=timedelta(days=1))
    return await run.perform(file, letter.model_copy(update={"number": given.word}))


@app.workflow(version=1, budget=LOAD)
async def choosy(run: Run, letter: Letter) -> int:
    """Does not complete with an input that is merely of its type."""
    if letter.number != "known":
        raise StepFailed("unknown_letter", f"nobody knows {letter.number!r}")
    return await run.step(weigh, letter.number)


async def sideways(letter: Letter) -> int:
    """What a drill must notice: a write outside an operation, once for each try."""
    import os

    import httpx2

    async with httpx2.AsyncClient(base_url=os.environ["DESK_URL"], trust_env=False) as client:
        return (await client.post("/letters", json=letter.model_dump())).status_code


@app.workflow(version=1, budget=LOAD)
async def careless(run: Run, letter: Letter) -> int:
    """Sends in a step."""
    return await run.step(sideways, letter)


class Documents(BaseModel):
    """Of no value that can be made from its type."""

    folder: Path
    number: str

    def model_post_init(self, context: object) -> None:
        if not self.folder.is_dir():
            raise ValueError("there is no such folder")


@app.workflow(version=1, budget=LOAD)
async def sorted_out(run: Run, documents: Documents) -> int:
    """Cannot be derived."""
    return await run.step(weigh, documents.number)
