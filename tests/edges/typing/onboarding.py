"""The onboarding case, as a user writes it."""

from datetime import timedelta
from pathlib import Path

from examples_documents import text_of
from pydantic import BaseModel
from pydantic_ai import Agent

from counterfoil import (
    App,
    Artifact,
    Budget,
    Call,
    Contract,
    Env,
    IdempotencyKey,
    Owner,
    Proposal,
    Receipt,
    ReviewBy,
    ReviewRejected,
    Run,
    When,
)


class Folder(BaseModel):
    customer: str
    path: Path


class Facts(BaseModel):
    customer: str
    sources: list[Artifact]  # name, digest, size: the versions that were read
    text: str
    remark: str = ""  # what the last reviewer asked for


class Case(BaseModel):
    customer: str
    company: str
    risk: str


app = App("onboarding")
app.receiver("crm", url=Env("CRM_URL"), environment="test")
case_agent = Agent("openai:gpt-5", output_type=Case, instructions="Propose an onboarding case from these documents.")


@app.operation(
    receiver="crm",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
        classifier=[When(status="2xx").means("applied"), When(status={400, 422}).means("refused")],
    ),
    business_key="customer",
    review=ReviewBy(
        role="manager",
        expires_in=timedelta(hours=8),
        owner=Owner("onboarding-lead", within=timedelta(hours=4), then="head-of-sales"),
    ),
)
async def create_case(call: Call, case: Case) -> Receipt:
    reply = await call.http.post("/cases", json=case.model_dump())
    return Receipt(reference=reply.json()["id"])


async def read_documents(folder: Path) -> list[Artifact]:
    return [await app.artifacts.save(path.read_bytes(), name=path.name) for path in sorted(folder.iterdir())]  # noqa: ASYNC240 - a folder on this disk


async def extract_facts(customer: str, sources: list[Artifact]) -> Facts:
    texts = [text_of(source.name, await app.artifacts.read(source)) for source in sources]
    return Facts(customer=customer, sources=sources, text="\n\n".join(texts))


@app.workflow(version=1, budget=Budget(attempts=5, elapsed=timedelta(days=5), spend_usd=2, owner="onboarding-lead"))
async def onboard(run: Run, folder: Folder) -> Receipt:
    sources = await run.step(read_documents, folder.path)
    facts = await run.step(extract_facts, folder.customer, sources)
    case = await run.decide(case_agent, facts, prompt_version="2026-11")
    proposal: Proposal[Case, Receipt] | None = None
    while True:
        proposal = await run.propose(create_case, case, replaces=proposal, sources=sources)  # version 1, 2, 3 ...
        try:
            return await run.perform(create_case, proposal)  # review, attempt, receipt
        except ReviewRejected as rejected:
            if not rejected.ask_revision:
                raise  # parks as review_rejected
            asked = facts.model_copy(update={"remark": rejected.comment})
            case = await run.revise(case_agent, asked, prompt_version="2026-11", reason=rejected.comment)
