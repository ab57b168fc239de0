"""The onboarding case: documents in, a proposed case, a manager's approval, one record in the CRM.

Six steps, each with a boundary of its own: read the documents, save the facts, save the proposed case, wait for the
approval of that proposal, attempt the write, save its receipt and finish. `CRM_URL` says where the CRM is.
"""

import asyncio
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Literal

import httpx2
from pydantic import BaseModel
from pydantic_ai import Agent

from counterfoil import (
    App,
    Artifact,
    Ask,
    Budget,
    Call,
    Contract,
    Env,
    Found,
    IdempotencyKey,
    Lookup,
    Owner,
    Proposal,
    Receipt,
    Retry,
    ReviewBy,
    ReviewRejected,
    Run,
    Seen,
    Target,
    When,
    step,
)
from counterfoil.examples.onboarding.documents import content_of, documents_in, text_of
from counterfoil.model.contract import Reference


class Folder(BaseModel):
    """Trusted input: the customer is not the model's to choose."""

    customer: str
    path: Path
    crm: Literal["key", "lookup", "none"] = "key"  # what this customer's CRM offers to who must ask again
    register_url: str | None = None  # a public register that must know the customer first, where there is one


class Facts(BaseModel):
    """What was read, and from which versions of the documents."""

    customer: str
    sources: list[Artifact]
    text: str
    remark: str = ""  # what the last reviewer asked for


class Case(BaseModel):
    """What leaves, and what is approved."""

    customer: Annotated[str, Target()]
    company: str
    risk: str


MANAGER = ReviewBy(
    role="manager",
    expires_in=timedelta(hours=8),
    owner=Owner("onboarding-lead", within=timedelta(hours=4), then="head-of-sales"),
)
ANSWERS = (When(status="2xx").means("applied"), When(status={400, 422}).means("refused"))
REFERENCE = Reference(header="Counterfoil-Operation")  # the body is exactly what was approved
PATIENCE = timedelta(seconds=3)

app = App("onboarding")
app.receiver("crm", url=Env("CRM_URL"), environment="test")
# The model is looked for when it is first asked: whoever reads or approves needs no provider's key.
case_agent = Agent(
    "openai-chat:gpt-5",
    output_type=Case,
    instructions="Propose an onboarding case from these documents.",
    defer_model_check=True,
)


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(
            header="Idempotency-Key",
            retention=timedelta(hours=24),
            saves={"2xx", "4xx", "5xx"},
            replay_marker={"idempotent-replayed": "true"},
            other_body="rejects",
        ),
        classifier=[When(status=409).means("in_progress"), *ANSWERS],
        reference=REFERENCE,
        request_timeout=PATIENCE,
    ),
    business_key="customer",
    review=MANAGER,
)
async def create_case(call: Call, case: Case) -> Receipt:
    """At a CRM that honours a key: the same request again is harmless."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


async def find_case(ask: Ask, case: Case) -> Seen[Receipt]:
    """Everything that the CRM holds under our operation's id."""
    page = (await ask.http.get("/cases", params={"reference": ask.operation_id, "limit": 100})).json()
    found = [Found(Receipt(reference=item["id"]), payload=Case(**item["payload"])) for item in page["data"]]
    return Seen(found, complete=not page["has_more"])


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        lookup=Lookup(
            find_case,
            consistency="strong",
            visible_within=timedelta(seconds=1),
            arrives_within=timedelta(seconds=1),
            pause=timedelta(seconds=1),
        ),
        classifier=ANSWERS,
        reference=REFERENCE,
        request_timeout=PATIENCE,
    ),
    business_key="customer",
    review=MANAGER,
)
async def create_case_and_look(call: Call, case: Case) -> Receipt:
    """At a CRM without a key: after a doubt it is asked what it holds, and only what it lacks is sent again."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        procedure="Search the CRM for the customer's name. One case: it succeeded, with its id. None after an hour: it failed.",
        classifier=ANSWERS,
        reference=REFERENCE,
        request_timeout=PATIENCE,
    ),
    business_key="customer",
    review=MANAGER,
)
async def create_case_blindly(call: Call, case: Case) -> Receipt:
    """At a CRM with neither key nor lookup: after a doubt only a person can tell."""
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


OPERATIONS = {"key": create_case, "lookup": create_case_and_look, "none": create_case_blindly}


async def read_documents(folder: Path) -> list[Artifact]:
    """Keep the bytes by digest: a document that is changed or deleted later changes nothing."""
    paths = await asyncio.to_thread(documents_in, folder)
    return [await app.artifacts.save(await asyncio.to_thread(content_of, path), name=path.name) for path in paths]


async def extract_facts(customer: str, sources: list[Artifact]) -> Facts:
    """The text of the kept bytes."""
    texts = [await asyncio.to_thread(text_of, kept.name, await app.artifacts.read(kept)) for kept in sources]
    return Facts(customer=customer, sources=sources, text="\n\n".join(texts))


@step(retry=Retry(tries=20, pause=timedelta(milliseconds=100)))
async def look_up_register(register_url: str, customer: str) -> str:
    """What the register says. Any failure is tried again, until the budget of attempts is spent."""
    async with httpx2.AsyncClient(base_url=register_url, trust_env=False, timeout=3) as client:
        reply = await client.get("/companies", params={"name": customer})
        return reply.raise_for_status().text


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=5), spend_usd=2, owner="onboarding-lead"))
async def onboard(run: Run, folder: Folder) -> Receipt:
    """From a folder to a receipt."""
    sources = await run.step(read_documents, folder.path)
    facts = await run.step(extract_facts, folder.customer, sources)
    if folder.register_url is not None:
        await run.step(look_up_register, folder.register_url, folder.customer)
    case = await run.decide(case_agent, facts, prompt_version="2026-11")
    operation = OPERATIONS[folder.crm]
    proposal: Proposal[Case, Receipt] | None = None
    while True:
        case = case.model_copy(update={"customer": folder.customer})  # the business key is ours, not the model's
        proposal = await run.propose(operation, case, replaces=proposal, sources=sources)  # version 1, 2, 3 ...
        try:
            return await run.perform(operation, proposal)  # review, attempt, receipt
        except ReviewRejected as rejected:
            if not rejected.ask_revision:
                raise  # parks as review_rejected
            asked = facts.model_copy(update={"remark": rejected.comment})
            case = await run.revise(case_agent, asked, prompt_version="2026-11", reason=rejected.comment)
