"""Workflows that write to a receiver: the sandbox, in its own process on this machine."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from pydantic import BaseModel

from benchmarks.workload import BUDGET, PERSON, Length, opened
from counterfoil.app import App
from counterfoil.engine.port import Call, Run
from counterfoil.model.contract import Contract, IdempotencyKey, When
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy
from counterfoil.testing.sandbox.process import SandboxProcess


class Item(BaseModel):
    """What is written."""

    run: str
    number: int


@contextmanager
def writing_app(folder: Path, *, reviewed: bool = False, called: Callable[[], None] | None = None) -> Iterator[App]:
    """An opened application with the workflow `writing`, which performs an operation so many times. `called` hears of each."""
    with SandboxProcess("key") as sandbox:
        app = App("benchmarks")
        app.receiver("sandbox", url=sandbox.url, environment="test")
        contract = Contract(
            api_version="1",
            duplicate="costly",
            key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
            classifier=[When(status="2xx").means("applied")],
        )
        review = ReviewBy(role=PERSON, expires_in=timedelta(hours=1), owner=PERSON) if reviewed else None

        @app.operation(receiver="sandbox", contract=contract, repeatable=True, review=review, owner=PERSON)
        async def write_item(call: Call, item: Item) -> Receipt:
            if called is not None:
                called()
            reply = await call.http.post("/items", json=item.model_dump())
            return Receipt(reference=reply.json()["id"])

        async def writing(run: Run, length: Length) -> int:
            for number in range(length.steps):
                await run.perform(write_item, Item(run=run.id, number=number))
            return length.steps

        app.workflow(version=1, budget=BUDGET)(writing)
        with opened(app, folder):
            yield app
