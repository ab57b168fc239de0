"""Agents for the crash tests: a model that plays a script, and tools of every kind. Every call leaves a line in a file."""

import asyncio
import json
import os
import urllib.request
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from datetime import timedelta
from pathlib import Path
from signal import SIGKILL, SIGSTOP, pthread_kill
from threading import get_ident
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, When
from counterfoil.agents import agent_tool
from counterfoil.model.contract_parts import Reference
from counterfoil.testing.bench_child import drive, place, work

app = App("desk")
app.receiver("crm", url=Env("CRM_URL", "http://127.0.0.1:9"), environment="test")
app.receiver("post", url=Env("POST_URL", "http://127.0.0.1:9"), environment="test")
BUDGET = Budget(attempts=8, elapsed=timedelta(days=2), spend_usd=3, owner="lead")
APPLIED = [When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]


class Refund(BaseModel):
    order: str
    amount: int


class Mail(BaseModel):
    to: str
    text: str


def stand(at: str) -> None:
    """Here a worker dies or is frozen, where its test said so: this very thread, so that nothing runs on behind it."""
    if os.environ.get("DESK_DIES") == at:
        pthread_kill(get_ident(), SIGKILL)
    if os.environ.get("DESK_FREEZES") == at:
        pthread_kill(get_ident(), SIGSTOP)


def _create(name: str, review: ReviewBy | None) -> Any:
    async def refund(call: Call, refund: Refund) -> Receipt:
        """Give money back."""
        stand("refund before")
        reply = await call.http.post("/refunds", json=refund.model_dump())
        stand("refund after")
        return Receipt(reference=reply.json()["id"])

    refund.__name__ = name
    contract = Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(
            header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx"}, other_body="rejects"
        ),
        classifier=APPLIED,
    )
    return app.operation(receiver="crm", contract=contract, business_key="order", owner="lead", review=review)(refund)


refund = _create("refund", None)
asked = _create("refund_asked", ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead"))


@app.operation(
    receiver="post",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        reference=Reference(header="Counterfoil-Operation"),
        classifier=APPLIED,
        procedure="Look into the outbox.",
    ),
    owner="lead",
    repeatable=True,
)
async def send_mail(call: Call, mail: Mail) -> Receipt:
    """Send a mail."""
    reply = await call.http.post("/mails", json=mail.model_dump())
    stand("send_mail after")
    return Receipt(reference=reply.json()["id"])


def line(name: str, **facts: object) -> None:
    """One line of a file of the test, on the disk before anything goes on."""
    with (Path(os.environ["DESK_FOLDER"]) / name).open("a") as file:
        file.write(json.dumps(facts) + "\n")
        file.flush()
        os.fsync(file.fileno())


def times(name: str) -> int:
    """How many lines a file of the test has."""
    file = Path(os.environ["DESK_FOLDER"]) / name
    return len(file.read_text().splitlines()) if file.exists() else 0


def planned(messages: list[ModelMessage]) -> Any:
    """What the newest script answers to these messages. It is what the user says: a list of answers, each a text, a list of
    [tool, arguments], or {"fails": times, "then": answer}."""
    begins, script = max((n, script) for n, message in enumerate(messages) for script in scripts(message))
    done = sum(isinstance(message, ModelResponse) for message in messages[begins:])
    newest = messages[-1]
    assert isinstance(newest, ModelRequest)
    begins_with = str(getattr(messages[0].parts[0], "content", ""))
    heard = [str(getattr(part, "content", "")) for part in newest.parts]
    line("requests", n=done, messages=len(messages), begins_with=begins_with, heard=heard)
    stand("asked")
    answer = json.loads(script)[done]
    if isinstance(answer, dict):
        if times("failures") < answer["fails"]:
            line("failures", n=done)
            raise ConnectionError("the provider is out of reach")
        answer = answer["then"]
    return answer


def scripts(message: ModelMessage) -> list[str]:
    said = [part.content for part in message.parts if isinstance(part, UserPromptPart)]
    return [text for text in said if isinstance(text, str) and text.startswith("[") and text.endswith("]")]


def played(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    if info.instructions and "summary" in info.instructions:
        line("summaries", messages=len(messages))
        stand("summary")
        return ModelResponse(parts=[TextPart("In short.")])
    answer, n = planned(messages), len(messages)
    if isinstance(answer, str):
        return ModelResponse(parts=[TextPart(answer)])
    return ModelResponse(
        parts=[ToolCallPart(tool, arguments, f"call-{n}-{k}") for k, (tool, arguments) in enumerate(answer)]
    )


async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncGenerator[str]:
    """Word by word; what comes behind the second word never comes where the worker dies there."""
    del info
    for n, word in enumerate(str(planned(messages)).split(" ")):
        if n == 2:
            stand("streamed")
        line("pieces", word=word)
        yield word if n == 0 else f" {word}"


agent = Agent(FunctionModel(played), name="desk")


@agent.tool_plain
@agent_tool(replay="safe")
def look(order: str) -> str:
    """Read an order."""
    line("looks", order=order)
    stand("look")
    return f"order {order}: one chair, 40 EUR"


@agent.tool_plain
def pay(order: str, amount: int, note: str | None = None) -> str:
    """Pay at once, past the ledger, as a tool does that nobody declared."""
    body = {"order": order, "amount": amount} | ({} if note is None else {"note": note})
    line("pays", **body)
    stand("pay before")
    url, plain = os.environ["BANK_URL"] + "/payments", json.dumps(body).encode()
    request = urllib.request.Request(url, plain, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=20) as reply:
        paid = json.loads(reply.read())["id"]
    stand("pay after")
    return f"paid {paid}"


desk = app.agent("desk", agent=agent, budget=BUDGET, operations=[refund, asked, send_mail])
talker = app.agent("talker", agent=Agent(FunctionModel(played, stream_function=streamed), name="talker"), budget=BUDGET)


def freezes(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """A worker that stands still at a boundary."""
    work(app, arguments | {"freeze_at": os.environ["DESK_FREEZES"]}, say)


def sends(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Send the message of the environment."""
    place(app, arguments, say)
    said = {"conversation": "c", "agent": "desk", "request_id": "r-1"}
    say(asyncio.run(app.conversations.send(os.environ["DESK_SAYS"], **said))["admitted"])
    app.close()


def aborts(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Abort the turn at work."""
    place(app, arguments, say)
    asyncio.run(app.conversations.abort("c", reason="It takes too long."))
    app.close()


speaker = app.agent("speaker", agent=Agent("openai-chat:local", name="speaker", defer_model_check=True), budget=BUDGET)


def hits(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive the run, and say how often each boundary was met."""
    place(app, arguments, say)
    met: Counter[str] = Counter()
    app.boundaries.observers.append(lambda when, names: met.update(names if when == "after" else ()))
    asyncio.run(drive(app, arguments["run_id"]))
    say(dict(met))
    app.close()
