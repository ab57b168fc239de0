"""Mistakes that a type checker must find: an error on each line marked `# wrong`, and on no other."""

from datetime import timedelta

from onboarding import Case, Folder, case_agent, create_case, onboard
from pydantic import BaseModel
from refund import RefundReceipt, RefundRequest, create_refund, read_payment, refund_agent

from counterfoil import (
    App,
    Ask,
    Bearer,
    Budget,
    Call,
    Contract,
    Lookup,
    Owner,
    Receipt,
    ReviewBy,
    Run,
    When,
    blocking,
    step,
)

app = App("mistakes")
app.receiver("mail", url="http://127.0.0.1", environment="staging")  # wrong: test or live
contract = Contract(classifier=[When(status="2xx").means("applied")])  # wrong: no API version
When(status="2xx").means("done")  # wrong: not a meaning
budget = Budget(attempts=1, elapsed=timedelta(days=1), spend_usd="3", owner="ops")  # wrong: money is a number
Owner("ana", timedelta(hours=4))  # wrong: by name
Owner("ana")  # wrong: within which time
Budget(1, elapsed=timedelta(days=1), spend_usd=1, owner="ops")  # wrong: by name
ReviewBy(role="manager", expires_in=8, owner="ana")  # wrong: a time
Bearer("secret")  # wrong: by reference, never itself


class Letter(BaseModel):
    text: str


free = Budget(attempts=1, elapsed=timedelta(days=1), spend_usd=1, owner="ops")
known = Contract(api_version="1", classifier=[], procedure="Ask.")


async def look(ask: Ask, letter: Letter) -> Receipt:
    return Receipt(reference=ask.operation_id + letter.text)


Lookup(look)  # wrong: it says what it saw, not what that means
Lookup(look, "strong")  # wrong: by name


@app.operation(receiver="mail", contract=known, owner="ops")  # wrong: no payload
async def without_payload(call: Call) -> Receipt:
    return Receipt(reference=call.operation_id)


@app.workflow(version=1, budget=free)  # wrong: not async
def plain_workflow(run: Run, letter: Letter) -> str:
    return run.id + letter.text


@step(tries=3)  # wrong: a Retry holds it
async def tried(text: str) -> str:
    return text


async def workflow(run: Run, letter: Letter) -> None:
    await run.perform(create_case, letter)  # wrong: another payload
    await run.propose(create_refund, Case(customer="", company="", risk=""))  # wrong: another payload
    proposal = await run.propose(create_case, Case(customer="", company="", risk=""))
    await run.perform(create_refund, proposal)  # wrong: a proposal of another operation
    receipt: RefundReceipt = await run.perform(create_case, proposal)  # wrong: another receipt
    await run.step(read_payment, letter)  # wrong: another argument
    await run.step(read_payment)  # wrong: none
    case: Case = await run.decide(refund_agent, letter, prompt_version="1")  # wrong: another agent's output
    await run.decide(case_agent, letter)  # wrong: no prompt version
    await run.decide(letter, letter, prompt_version="1")  # wrong: not an agent
    await run.child(onboard, letter, request_id="1")  # wrong: another input
    await run.wait_for("go", Letter)  # wrong: for ever
    await run.message("system", "be good")  # wrong: not who says it
    create_case(run, case)  # wrong: only a run or a ledger performs it
    await run.document("notes", receipt.reference)


async def outside(folder: Folder, request: RefundRequest) -> None:
    await app.submit(onboard, request, request_id="1")  # wrong: another input
    await app.submit(onboard, folder)  # wrong: no request id
    submitted = await app.submit(onboard, folder, request_id="1")
    number: int = await submitted.result()  # wrong: a receipt
    await app.ledger.perform(create_refund, folder, identity=str(number))  # wrong: another payload
    blocking(submitted.result)  # wrong: not a coroutine
