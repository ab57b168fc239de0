"""One process: a worker, and two people who approve as soon as they are asked."""

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Money, Receipt, ReviewBy, Run, When
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.app.signing import new_key, signer_in
from counterfoil.engine.administration import NewPerson
from counterfoil.model.run import RunRecord
from counterfoil.testing.bench_child import place

SECRET = "correct horse"
PAIR = ("ana", "oscar")


class Payment(BaseModel):
    number: str
    amount: Annotated[int, Money("EUR")]


app = App("pair")
app.receiver("bank", url=Env("BANK_URL"), environment="test")


@app.operation(
    receiver="bank",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24), other_body="rejects"),
        classifier=[When(status="2xx").means("applied")],
    ),
    business_key="number",
    review=ReviewBy(role="payer", expires_in=timedelta(hours=8), owner="payer", approvals=2),
)
async def pay(call: Call, payment: Payment) -> Receipt:
    reply = await call.http.post("/payments", json=payment.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=1), spend_usd=1, owner="payer"))
async def paying(run: Run, payment: Payment) -> Receipt:
    return await run.perform(pay, payment)


def founding(folder: Path) -> Founding:
    """The same after every crash: the key was made before the database."""
    file = folder / ".counterfoil" / "approval.key"
    file.parent.mkdir(exist_ok=True)
    people = tuple(NewPerson(name, ("payer",), hashed(SECRET, "00")) for name in PAIR)
    key = signer_in(file) if file.exists() else new_key(file)
    return Founding(people=people, approval_key=key.public_key)


async def lived(folder: Path) -> None:
    """Until the run has ended."""
    app.open(founding(folder))
    submitted = await app.submit(paying, Payment(number="1", amount=700), request_id="r")
    async with app.worker():
        while True:
            with app.open().read() as reader:
                run: Any = reader.get(RunRecord, submitted.run_id)
            if run.state.ended:
                return
            for review in app.reviews.list(state="open")["items"]:
                given = {each["person"] for each in review["answers"]["given"]}
                missing = next(name for name in PAIR if name not in given)
                await app.reviews.approve(review["review_id"], digest=review["digest"], by=missing, secret=SECRET)
            await app.open().clock.wait(asyncio.Event(), app.open().clock.now_us() + 5_000)


def lives(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """What a child does: {folder, crash_at}."""
    folder = Path(arguments["folder"])
    place(app, {"db": str(folder / "pair.db"), "crash_at": arguments["crash_at"]}, say)
    asyncio.run(lived(folder))
    app.close()
