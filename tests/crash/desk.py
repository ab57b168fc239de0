"""An agent for the crash tests: its model plays a script, and every request to it leaves a line in a file of the test's."""

import asyncio
import json
import os
import urllib.request
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from counterfoil import App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, When
from counterfoil.agents import agent_tool
from counterfoil.testing.bench_child import drive, place

app = App("desk")
app.receiver("crm", url=Env("CRM_URL", "http://127.0.0.1:9"), environment="test")
BUDGET = Budget(attempts=8, elapsed=timedelta(days=2), spend_usd=3, owner="lead")


class Refund(BaseModel):
    order: str
    amount: int


def _create(name: str, review: ReviewBy | None) -> Any:
    async def refund(call: Call, refund: Refund) -> Receipt:
        """Give money back."""
        reply = await call.http.post("/refunds", json=refund.model_dump())
        return Receipt(reference=reply.json()["id"])

    refund.__name__ = name
    contract = Contract(
        api_version="1",
        duplicate="costly",
        key=IdempotencyKey(
            header="Idempotency-Key", retention=timedelta(hours=24), saves={"2xx"}, other_body="rejects"
        ),
        classifier=[When(status="2xx").means("applied"), When(status={400, 422}).means("refused")],
    )
    return app.operation(receiver="crm", contract=contract, business_key="order", owner="lead", review=review)(refund)


refund = _create("refund", None)
asked = _create("refund_asked", ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead"))


def line(name: str, **facts: object) -> None:
    """One line of a file of the test, on the disk before anything goes on."""
    with (Path(os.environ["DESK_FOLDER"]) / name).open("a") as file:
        file.write(json.dumps(facts) + "\n")
        file.flush()
        os.fsync(file.fileno())


def played(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """The script is what the user says: a list of answers, each text or a list of [tool, arguments]."""
    del info
    first = next(part for part in messages[0].parts if isinstance(part, UserPromptPart))
    script = json.loads(str(first.content))
    n = sum(isinstance(message, ModelResponse) for message in messages)
    newest = messages[-1]
    assert isinstance(newest, ModelRequest)
    heard = [str(getattr(part, "content", "")) for part in newest.parts]
    line("requests", n=n, heard=heard)
    answer = script[n]
    if isinstance(answer, str):
        return ModelResponse(parts=[TextPart(answer)])
    return ModelResponse(
        parts=[ToolCallPart(tool, arguments, f"call-{n}-{k}") for k, (tool, arguments) in enumerate(answer)]
    )


agent = Agent(FunctionModel(played), name="desk")


@agent.tool_plain
@agent_tool(replay="safe")
def look(order: str) -> str:
    """Read an order."""
    line("looks", order=order)
    return f"order {order}: one chair, 40 EUR"


@agent.tool_plain
def pay(order: str, amount: int) -> str:
    """Pay at once, past the ledger, as a tool does that nobody declared."""
    body = json.dumps({"order": order, "amount": amount}).encode()
    line("pays", order=order, amount=amount)
    if os.environ.get("DESK_DIES") == "before":
        os.kill(os.getpid(), 9)
    url = os.environ["DESK_BANK"] + "/payments"
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=20) as reply:
        paid = json.loads(reply.read())["id"]
    if os.environ.get("DESK_DIES") == "after":
        os.kill(os.getpid(), 9)
    return f"paid {paid}"


desk = app.agent("desk", agent=agent, budget=BUDGET, operations=[refund, asked])


def hits(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive the run, and say how often each boundary was met."""
    place(app, arguments, say)
    met: Counter[str] = Counter()
    app.boundaries.observers.append(lambda when, names: met.update(names if when == "after" else ()))
    asyncio.run(drive(app, arguments["run_id"]))
    say(dict(met))
    app.close()
