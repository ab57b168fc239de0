"""Agents whose tools say what they are: with a function that is asked, with a review, of an MCP server, or another agent."""

import asyncio
import json
import os
import urllib.request
from collections.abc import Callable, Sequence
from datetime import timedelta
from signal import SIGKILL, pthread_kill
from threading import get_ident
from typing import Any

from pydantic import BaseModel
from pydantic_ai import Agent, ApprovalRequired, CallDeferred, ModelRetry, RunContext, Tool
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.toolsets import FunctionToolset

from counterfoil import App, Budget, Contract, Env, ReviewBy, When
from counterfoil.agents import DidNotHappen, Happened, agent_tool, current_run, mcp_tool, trusted
from counterfoil.testing.bench_child import drive, place, working
from tests.crash.desk import Refund, line, played, refund, stand, times

app = App("tools")
BUDGET = Budget(attempts=8, elapsed=timedelta(days=2), spend_usd=3, owner="lead")
MANAGER = ReviewBy(role="manager", expires_in=timedelta(hours=8), owner="lead")


def paid(order: str, amount: int) -> str:
    """One payment at the bank, past the ledger."""
    url, plain = os.environ["BANK_URL"] + "/payments", json.dumps({"order": order, "amount": amount}).encode()
    request = urllib.request.Request(url, plain, {"Content-Type": "application/json"}, method="POST")
    with urllib.request.urlopen(request, timeout=20) as reply:
        return json.loads(reply.read())["id"]


# ---------------------------------------------------------------------- a function that is asked


def bank_says(operation_id: str, order: str, amount: int) -> Happened | DidNotHappen | None:
    """Looks at the bank. It cannot tell for as long as its test says, and fails where it says so."""
    line("asked_itself", operation_id=operation_id, order=order, amount=amount)
    if times("asked_itself") <= int(os.environ.get("BANK_SILENT", "0")):
        if os.environ.get("BANK_RAISES"):
            raise ConnectionError("the bank is out of reach")
        return None
    with urllib.request.urlopen(os.environ["BANK_URL"] + f"/payments?order={order}", timeout=20) as reply:
        found = [record for record in json.loads(reply.read())["data"] if record["amount"] == amount]
    return Happened(found[0]["id"], f"paid {found[0]['id']}") if found else DidNotHappen("The bank does not have it.")


wiring = Agent(FunctionModel(played), name="wiring")


@wiring.tool_plain
@agent_tool(resolve=bank_says)
def wire(order: str, amount: int) -> str:
    """Pay, and say later whether it happened."""
    line("wires", order=order, amount=amount)
    stand("wire before")
    reference = paid(order, amount)
    stand("wire after")
    return f"paid {reference}"


wirer = app.agent("wirer", agent=wiring, budget=BUDGET)


# ---------------------------------------------------------------------- approvals of Pydantic AI

approving = Agent(FunctionModel(played), name="approving")


@approving.tool_plain(requires_approval=True)
@agent_tool(review=MANAGER)
def grant(order: str, amount: int) -> str:
    """Pay what a person lets pass."""
    line("grants", order=order, amount=amount)
    stand("grant before")
    reference = paid(order, amount)
    stand("grant after")
    return f"granted {reference}"


@approving.tool
@agent_tool(review=MANAGER)
def grant_much(ctx: RunContext[object], order: str, amount: int) -> str:
    """Asks for an approval itself, where it is much."""
    line("asks", order=order, amount=amount, approved=ctx.tool_call_approved)
    if amount > 10 and not ctx.tool_call_approved:
        raise ApprovalRequired
    return f"granted {paid(order, amount)}"


@approving.tool_plain
def outside(order: str) -> str:
    """Handed to something outside."""
    line("outside", order=order)
    raise CallDeferred


approver = app.agent("approver", agent=approving, budget=BUDGET)


# ---------------------------------------------------------------------- a part of the workflow

waiting = Agent(FunctionModel(played), name="waiting")


def look_up(order: str) -> str:
    line("looks", order=order)
    return f"{order}: one chair"


@waiting.tool_plain
@agent_tool(replay="run")
async def remind(order: str, hours: int) -> str:
    """Look, sleep, and look again. Whatever it does is done by its run."""
    line("reminds", order=order)
    run = current_run()
    before = await run.step(look_up, order)
    await run.sleep(timedelta(hours=hours))
    return f"then {before}, {hours} hours later {await run.step(look_up, order)}"


sleeper = app.agent("sleeper", agent=waiting, budget=BUDGET)


def naps(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """A worker that works on and skips no time. It says when its run waits."""
    place(app, arguments | {"watch": ["run.waiting"]}, say)

    async def works() -> None:
        async with working(app) as here:
            while True:
                here.look()
                await here.wait()

    asyncio.run(works())


# ---------------------------------------------------------------------- MCP

app.receiver("notes", url=Env("MCP_URL", "http://127.0.0.1:9/mcp"), environment="test")


class Note(BaseModel):
    order: str
    text: str


async def watched(ctx: RunContext[Any], call_tool: Any, name: str, arguments: dict[str, Any]) -> Any:
    """A worker dies on its way to the server, or back."""
    del ctx
    stand("mcp before")
    result = await call_tool(name, arguments)
    stand("mcp after")
    return result


def server() -> MCPToolset[Any]:
    """The same server, each time as a toolset of its own: what one believes of it the other does not."""
    return MCPToolset(os.environ.get("MCP_URL", "http://127.0.0.1:9/mcp"), process_tool_call=watched, init_timeout=5)


ledgered = server()
add_note = app.operation(
    receiver="notes",
    contract=Contract(
        api_version="1",
        duplicate="costly",
        classifier=[When(status=200).means("applied"), When(status=400).means("refused")],
        procedure="Read the notes of the order.",
    ),
    business_key="order",
    owner="lead",
)(mcp_tool(ledgered, "add_note", Note))

believer = app.agent(
    "believer", agent=Agent(FunctionModel(played), name="b", toolsets=[trusted(server()).prefixed("n")]), budget=BUDGET
)
doubter = app.agent("doubter", agent=Agent(FunctionModel(played), name="d", toolsets=[server()]), budget=BUDGET)
writer = app.agent(
    "writer",
    agent=Agent(FunctionModel(played), name="w", toolsets=[ledgered.filtered(lambda ctx, tool: True).prefixed("n")]),
    budget=BUDGET,
    operations=[add_note],
)


# ---------------------------------------------------------------------- a part of the workflow

app.receiver("crm", url=Env("CRM_URL", "http://127.0.0.1:9"), environment="test")
app.registry.add_operation(refund)
keeping = Agent(FunctionModel(played), name="keeping")


@keeping.tool_plain
def hand(order: str, amount: int) -> str:
    """Pay past the ledger; nobody can say what it did."""
    line("hands", order=order, amount=amount)
    reference = paid(order, amount)
    stand("hand after")
    return f"handed {reference}"


@keeping.tool_plain
@agent_tool(replay="run")
async def back(order: str, amount: int, beside: bool = False) -> str:
    """Give money back, in steps of its own."""
    run = current_run()
    await run.step(counted, order)
    refunding = run.perform(refund, Refund(order=order, amount=amount))
    receipt = (await run.gather(refunding))[0] if beside else await refunding
    return f"given back {receipt.reference}"


def counted(order: str) -> int:
    line("counted", order=order)
    return 1


keeper = app.agent("keeper", agent=keeping, budget=BUDGET, operations=[refund])


# ---------------------------------------------------------------------- another agent

asker = app.agent(
    "asker", agent=Agent(FunctionModel(played), name="asker"), budget=BUDGET, operations=[wirer, approver]
)


def asked_twice(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive the run until its tool was asked twice in vain, and die."""
    place(app, arguments, say)

    def seen(when: str, names: Sequence[str]) -> None:
        if when == "after" and "operation.looked_up" in names and times("asked_itself") >= 2:
            pthread_kill(get_ident(), SIGKILL)

    app.boundaries.observers.append(seen)
    asyncio.run(drive(app, arguments["run_id"]))


def tried_twice(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Drive the run until it failed twice to reach a server, and die."""
    place(app, arguments, say)
    tried = iter(range(9))

    def seen(when: str, names: Sequence[str]) -> None:
        if when == "after" and "step.try_failed" in names and next(tried) == 1:
            pthread_kill(get_ident(), SIGKILL)

    app.boundaries.observers.append(seen)
    asyncio.run(drive(app, arguments["run_id"]))


# ---------------------------------------------------------------------- tools that a deployment changes

changing = Agent(FunctionModel(played), name="changing")


def transfer(order: str, amount: int) -> str:
    """Pay."""
    line("transfers", order=order, amount=amount)
    reference = paid(order, amount)
    stand("transfer after")
    return f"paid {reference}"


def _in_another_form(order: str, amount: int, currency: str) -> str:
    return transfer(order, amount)


async def _says_no(ctx: RunContext[object], order: str, amount: int) -> None:
    raise ModelRetry(f"{order} is paid already")


@changing.toolset(per_run_step=False)
def as_deployed(ctx: RunContext[object]) -> FunctionToolset[object]:
    """What CHANGED says: the tool as it was, in another form, under another name, refused before it is called, or gone."""
    changed = os.environ.get("CHANGED", "")
    if changed == "gone":
        return FunctionToolset[object]([])
    function: Callable[..., str] = _in_another_form if changed == "form" else transfer
    name = "transfer_2" if changed == "name" else "transfer"
    validator: Any = _says_no if changed == "validator" else None
    return FunctionToolset[object]([Tool(function, name=name, takes_ctx=False, args_validator=validator)])


changing_agent = app.agent("changing", agent=changing, budget=BUDGET)


def cancels(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """Cancel the run: nothing is driven."""
    place(app, arguments, say)
    asyncio.run(app.runs.cancel(arguments["run_id"], reason="It is not wanted any more."))
    app.close()
