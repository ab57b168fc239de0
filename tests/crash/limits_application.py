"""One workflow for each limit that all workers keep together. With LIMITS=off in the environment none of them is there."""

import os
from datetime import timedelta
from typing import Annotated, Any

from pydantic import BaseModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Partition, Rate, Receipt, Run, When
from counterfoil.engine.definitions import Operation, Workflow
from counterfoil.model.money import Target
from counterfoil.model.people import Owner
from counterfoil.rules import tap

LIMITED = os.environ.get("LIMITS") != "off"
AT_RECEIVER, AT_WORKFLOW, AT_CUSTOMER = 3, 2, 1
RATE = Rate(1, per=timedelta(seconds=1))

if not LIMITED:
    tap.closed = lambda tap, *_: tap  # what a receiver asks for is not heard

app = App("limits")
CONTRACT = Contract(
    api_version="1",
    duplicate="costly",
    key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24), other_body="rejects"),
    classifier=[When(status="2xx").means("applied"), When(status=429).means("not_applied")],
    request_timeout=timedelta(seconds=20),
)
BUDGET = Budget(attempts=50, elapsed=timedelta(days=1), spend_usd=1, owner="oscar")


class Asked(BaseModel):
    number: Annotated[str, Target()]
    customer: str


def _operation(name: str, **limits: Any) -> Operation[Any, Any]:
    app.receiver(name, url=Env("COUNTING_URL"), environment="test", **(limits if LIMITED else {}))

    async def send(call: Call, asked: Asked) -> Receipt:
        reply = await call.http.post(f"/{name}", json=asked.model_dump())
        return Receipt(reference=reply.json()["id"])

    send.__name__ = f"send_{name}"
    return app.operation(
        receiver=name, contract=CONTRACT, business_key="number", owner=Owner("oscar", within=timedelta(hours=4))
    )(send)


def _workflow(name: str, operation: Operation[Any, Any], **limits: Any) -> Workflow[Any, Any]:
    async def sending(run: Run, asked: Asked) -> Receipt:
        return await run.perform(operation, asked)

    sending.__name__ = name
    return app.workflow(version=1, budget=BUDGET, **(limits if LIMITED else {}))(sending)


WORKFLOWS = {
    "narrow": _workflow("narrow", _operation("narrow", concurrency=AT_RECEIVER)),
    "few": _workflow("few", _operation("few"), concurrency=AT_WORKFLOW),
    "by_customer": _workflow(
        "by_customer", _operation("by_customer"), partition=Partition("customer", concurrency=AT_CUSTOMER)
    ),
    "paced": _workflow("paced", _operation("paced", rate=RATE)),
    "asking": _workflow("asking", _operation("asking")),
}
