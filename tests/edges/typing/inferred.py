"""What a type checker knows of a user's functions: payloads, results and outputs keep their types through every name."""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, assert_type
from uuid import UUID

from onboarding import Facts, Folder, case_agent, onboard
from pydantic import BaseModel
from refund import RefundReceipt, RefundRequest, create_refund, refund

from counterfoil import (
    App,
    Artifact,
    Budget,
    Call,
    Contract,
    Operation,
    OperationFailed,
    Proposal,
    Receipt,
    Retry,
    Run,
    Submitted,
    When,
    Workflow,
    blocking,
    step,
)


class Invoice(BaseModel):
    number: str


class Posted(Receipt):
    stamp: int | None = None


class Connection:
    def one(self) -> int:
        return 1


@dataclass
class Said:
    output: bool


class Fixed:
    """An agent of one's own: any object with `run`."""

    async def run(self, user_prompt: str) -> Said:
        return Said(bool(user_prompt))


app = App("inferred")
contract = Contract(api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask the mail desk.")


@app.operation(receiver="mail", contract=contract, business_key=lambda invoice: invoice.number, owner="ops")
def plain(call: Call, invoice: Invoice) -> Posted:
    with call.sending(answered=lambda problem: (402, str(problem), None) if problem.args else None) as sending:
        sending.reply(200, {"key": sending.key})
    reply = blocking(call.http.post("/send", json=invoice.model_dump()))
    assert_type(reply.status, int)
    return Posted(reference=reply.text)


@app.operation(receiver="mail", contract=contract, owner="ops", repeatable=True)
async def asynchronous(call: Call, invoice: Invoice) -> Posted:
    assert_type((call.operation_id, call.key, call.attempt), tuple[str, str | None, int])
    return Posted(reference=(await call.http.put("/send", content=b"x")).text)


@step(retry=Retry(tries=2), timeout=timedelta(seconds=5), name="added")
async def add(one: int, *, other: int = 1) -> int:
    return one + other


def double(number: int) -> int:
    return 2 * number


@app.workflow(version=1, budget=Budget(attempts=1, elapsed=timedelta(days=1), spend_usd=1, owner="ops"))
async def everything(run: Run, invoice: Invoice) -> list[Posted]:
    assert_type(run.now(), datetime)
    assert_type(run.uuid(), UUID)
    assert_type(run.random(), float)
    assert_type(await run.step(add, 1, other=2), int)
    assert_type(await run.step(double, number=1), int)
    assert_type(await run.decide(Fixed(), {"any": "json"}, prompt_version="1"), bool)
    assert_type(await run.revise(Fixed(), "again", prompt_version="1", reason="wrong"), bool)
    case = await run.decide(case_agent, Facts(customer="acme", sources=[], text=""), prompt_version="1")
    assert_type(case.company, str)
    proposal = await run.propose(plain, invoice)
    assert_type(proposal, Proposal[Invoice, Posted])
    assert_type(proposal.payload, Invoice)
    assert_type(await run.perform(plain, proposal), Posted)
    assert_type(await run.perform(asynchronous, invoice), Posted)
    assert_type(await run.transact(Connection, Connection.one), int)
    assert_type(await run.wait_for("go", Invoice, within=timedelta(hours=1)), Invoice)
    assert_type(
        await run.child(refund, RefundRequest(request_number="1", charge="c", letter=""), request_id="1"), RefundReceipt
    )
    assert_type(run.timeout(timedelta(hours=1)), AbstractAsyncContextManager[None])
    await run.sleep(timedelta(days=1))
    await run.message("user", "hello")
    await run.document("notes", invoice)
    later = run.branch(run.step(add, 1))
    assert_type(await later, int)
    try:
        return await run.gather(run.perform(plain, invoice), run.perform(asynchronous, invoice))
    except OperationFailed as failed:
        assert_type((failed.operation_id, failed.code, failed.kind), tuple[str, str, str])
        raise


assert_type(plain, Operation[Invoice, Posted])
assert_type(asynchronous, Operation[Invoice, Posted])
assert_type(everything, Workflow[Invoice, list[Posted]])
assert_type(onboard, Workflow[Folder, Receipt])
assert_type(double(1), int)
decorated: Callable[..., Any] = add  # a step stays a function: it can be called and tested by itself


async def outside() -> None:
    submitted = await app.submit(everything, Invoice(number="1"), request_id="1")
    assert_type(submitted, Submitted[list[Posted]])
    assert_type(await submitted.result(), list[Posted])
    assert_type(await add(1), int)
    assert_type(await app.ledger.perform(plain, Invoice(number="1"), identity="1"), Posted)
    assert_type(await app.artifacts.save(b"x", name="x"), Artifact)
    async with app.worker():
        await app.signal(submitted.run_id, "go", Invoice(number="1"), signal_id="1")
    assert create_refund.name == "create_refund"
