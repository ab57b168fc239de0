"""The support desk: an agent that looks up, notes, refunds and writes e-mails. The last two are operations.

A refund goes to a receiver with a key, an e-mail to one whose only evidence is a mailbox. `PAYMENTS_URL`, `MAIL_URL` and
`MAILBOX` say where they are, `NOTES_URL` where the notes server speaks MCP. The model is what `OPENAI_API_KEY` reaches, at
`OPENAI_BASE_URL` if that is set.
"""

from datetime import timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, Field
from pydantic_ai import Agent, RunContext
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.toolsets import AbstractToolset

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
    Money,
    Owner,
    Receipt,
    ReviewBy,
    Seen,
    Target,
    When,
)
from counterfoil.agents import agent_tool, trusted
from counterfoil.examples.support_desk import orders
from counterfoil.examples.support_desk.mail import Mail, found_in, message_id_of, read_back, relay, submit, written
from counterfoil.model.contract import Reference
from counterfoil.settings import environment

MAIL_URL, MAILBOX, NOTES_URL = "MAIL_URL", "MAILBOX", "NOTES_URL"

app = App("support")
app.receiver("payments", url=Env("PAYMENTS_URL"), environment="test")
app.receiver("mail", url=Env(MAIL_URL), environment="test")

LEAD = ReviewBy(
    role="support-lead",
    expires_in=timedelta(hours=8),
    owner=Owner("support-desk", within=timedelta(hours=4), then="head-of-support"),
)


class Refund(BaseModel):
    """What leaves, and what is approved: so many cents of what was paid for this order."""

    order: Annotated[str, Target()] = Field(pattern=r"^[A-Z]-[0-9]+$")
    cents: Annotated[int, Money("EUR")] = Field(gt=0)


@app.operation(
    receiver="payments",
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
        classifier=[
            When(status=409).means("in_progress"),
            When(status="2xx").means("applied"),
            When(status={400, 422}).means("refused"),
        ],
        reference=Reference(header="Counterfoil-Operation"),
        request_timeout=timedelta(seconds=5),
    ),
    business_key="order",  # one refund for an order: another amount for it is a question to a person
    review=LEAD,
)
async def create_refund(call: Call, refund: Refund) -> Receipt:
    """Give money back for an order. The support lead approves it."""
    reply = await call.http.post("/refunds", json=refund.model_dump())
    return Receipt(reference=reply.json()["id"])


async def find_email(ask: Ask, mail: Mail) -> Seen[Receipt]:
    """The messages in the mailbox that carry our operation's id, each compared with what was approved."""
    del mail
    marker = message_id_of(ask.operation_id)
    found: list[Found[Receipt]] = []
    for n, message in enumerate(found_in(Path(environment()[MAILBOX]), marker), 1):
        # Two messages under one marker are two records: each needs a name of its own, or nobody would notice.
        name = marker if n == 1 else f"{marker} (message {n})"
        found.append(Found(Receipt(reference=name), payload=read_back(message)))
    return Seen(found, complete=True)


@app.operation(
    receiver="mail",
    contract=Contract(
        api_version="RFC 5321",
        duplicate="irreversible",
        # SMTP has no key: the same message again is a second e-mail. Its Message-ID is the marker that a lookup finds.
        reference=Reference(header="Message-ID"),
        classifier=[
            When(status="2xx").means("applied"),  # the server has taken the message over
            When(status="5xx").means("refused"),
            When(status="4xx", body={"stage": "envelope"}).means("not_applied"),  # no content had left
            # A 4xx after the content, and a connection that ends there, are doubts: the mailbox says what happened.
        ],
        lookup=Lookup(
            find_email,
            consistency="strong",  # a message is in the mailbox, whole, before the 250
            visible_within=timedelta(0),
            arrives_within=timedelta(seconds=30),  # the server cuts off a sender that is silent for 10 seconds
            finds_by="operation_id",
            pause=timedelta(seconds=1),
        ),
        request_timeout=timedelta(seconds=20),
    ),
    business_key="order",  # one e-mail for an order: another text for it is a question to a person
    review=LEAD,
)
def send_email(call: Call, mail: Mail) -> Receipt:
    """Write to the customer about an order. The support lead approves it. A plain function: SMTP's client blocks."""
    content = written(mail, call.operation_id)
    with relay(environment()[MAIL_URL]) as server, call.sending() as told:
        told.reply(*submit(server, mail, content))
    return Receipt(reference=message_id_of(call.operation_id))


# The model is looked for when it is first asked: whoever reads or approves needs no provider's key.
desk_agent = Agent(
    "openai-chat:gpt-5",
    instructions=(
        "You answer for a furniture shop. Read the order, the customer and the notes before you do anything. Refund what is "
        "asked for where the order was paid, then write to the customer, then add a note to the order. Never promise what "
        "you have not seen happen."
    ),
    defer_model_check=True,
)
desk_agent.tool_plain(agent_tool(replay="safe")(orders.read_order))
desk_agent.tool_plain(agent_tool(replay="safe")(orders.read_customer))


@desk_agent.toolset(per_run_step=False)
def notes(ctx: RunContext[object]) -> AbstractToolset[object] | None:
    """The tools of the notes server, if there is one; asked for in each turn, so that the address is today's."""
    del ctx
    place = environment().get(NOTES_URL)
    # error: a connection that ended says nothing about the note. The default would tell the model that it may try again.
    return None if place is None else trusted(MCPToolset(place, tool_error_behavior="error"))


# list_notes says of itself that it only reads, and its server is trusted. add_note says nothing of the kind: it runs once,
# and an interrupted one is a person's.
support = app.agent(
    "support",
    agent=desk_agent,
    version=1,
    prompt_version="2026-11",
    policy_version="refunds-2026-10",
    operations=[create_refund, send_email],
    budget=Budget(attempts=8, elapsed=timedelta(days=2), spend_usd=3, owner="support-desk"),
)
