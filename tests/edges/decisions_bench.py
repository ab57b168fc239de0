"""A shop whose orders a model words, over a real model server and a real receiver, with one way into each verdict."""

import hashlib
import json
from pathlib import Path
from typing import Any

from counterfoil.cli.command import DECLARED
from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed
from tests.edges.cli_shapes import missing
from tests.edges.test_cli_processes import run

APP = """
from datetime import timedelta
from pydantic import BaseModel
from pydantic_ai import Agent
from counterfoil import (
    App, Budget, Call, Contract, Env, IdempotencyKey, Receipt, ReviewBy, ReviewRejected, Run, When,
)

class Order(BaseModel):
    number: str
    wish: str

class Choice(BaseModel):
    item: str
    amount: int

class Purchase(BaseModel):
    number: str
    item: str
    amount: int

app = App("shop")
app.receiver("shop", url=Env("SHOP_URL", "http://127.0.0.1:1"), environment="test")
buyer = Agent("openai-chat:gpt-5", name="buyer", output_type=Choice, instructions="What do we buy?", defer_model_check=True)

@app.operation(
    receiver="shop", business_key="number",
    contract=Contract(api_version="1", duplicate="costly", key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24)),
                      classifier=[When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]),
    review=ReviewBy(role="buyer", expires_in=timedelta(hours=8), owner="buying-lead"),
)
async def place_order(call: Call, purchase: Purchase) -> Receipt:
    reply = await call.http.post("/orders", json=purchase.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

BUDGET = Budget(attempts=2, elapsed=timedelta(days=2), spend_usd=1, owner="desk")

@app.workflow(version=3, budget=BUDGET)
async def buy(run: Run, order: Order) -> Receipt:
    choice = await run.decide(buyer, order, prompt_version="7")
    proposal = await run.propose(place_order, Purchase(number=order.number, **choice.model_dump()))
    try:
        return await run.perform(place_order, proposal)
    except ReviewRejected as rejected:
        if not rejected.ask_revision:
            raise
        again = await run.revise(buyer, order.wish, prompt_version="7", reason=rejected.comment)
        proposal = await run.propose(place_order, Purchase(number=order.number, **again.model_dump()), replaces=proposal)
        return await run.perform(place_order, proposal)

clerk = Agent("openai-chat:gpt-5", name="clerk", instructions="You are the clerk.", defer_model_check=True)

def ran(tool: str) -> str:
    with open("ran.log", "a") as log:
        log.write(tool + "\\n")
    return tool + " ran"

@clerk.tool_plain
def look_up(item: str) -> str:
    return ran("look_up")

@clerk.tool_plain
def stamp(mark: str) -> str:
    return ran("stamp")

app.agent("clerk", agent=clerk, budget=BUDGET, prompt_version="3", policy_version="p-9", operations=[place_order], safe=["look_up"])

@app.workflow(version=1, budget=BUDGET)
async def think(run: Run, order: Order) -> str:
    wish = order.wish * (20_000 if order.number == "long" else 1)
    return (await run.decide(buyer, wish, prompt_version="8")).item
"""


def item_of(answer: Any) -> dict[str, Any]:
    """A text, the call of a tool as (tool, arguments), or an output."""
    if isinstance(answer, str):
        return {"text": answer}
    return {"tool": answer[0], "arguments": answer[1]} if isinstance(answer, tuple) else {"arguments": answer}


class Shop:
    """The folder, its receiver and its model. The model gives `answers` in order, and then answers of its own."""

    def __init__(self, folder: Path, *answers: Any) -> None:
        script = folder / "script.json"
        script.write_text(json.dumps([item_of(answer) for answer in answers]))
        self.sandbox = SandboxProcess("key")
        self.model = ModelServerProcess(script=script)
        self.cli: Cli = installed(folder, app=APP)
        self.cli.environ |= self.model.environment | {"SHOP_URL": self.sandbox.url}

    def close(self) -> None:
        self.model.close()
        self.sandbox.close()

    def ran(self) -> list[str]:
        """The tools of the clerk that ran, in order."""
        log = self.cli.folder / "ran.log"
        return log.read_text().split() if log.exists() else []

    def submit(self, workflow: str, number: str, wish: str) -> None:
        given = json.dumps({"text": wish} if workflow == "clerk" else {"number": number, "wish": wish}).encode()
        ended = self.cli.json("submit", workflow, "--input", "-", "--request-id", number, stdin=given)
        assert ended.status in (0, 5), ended
        self.drive()

    def drive(self) -> None:
        """In a process of its own: in this one the connections of a model would be left to the garbage collector."""
        status, _, err = run(self.cli, "worker", "--until-idle")
        assert status == 0, err

    def review(self) -> dict[str, Any]:
        return self.cli.json("reviews", "list", "--state", "open").data["items"][0]

    def reject(self, *more: str) -> None:
        words = ("reviews", "reject", self.review()["review_id"], "--digest", self.review()["digest"])
        assert self.cli.json(*words, "--by", "ana", "--comment", "too much", *more).status == 0

    def approve(self, by: str = "ana") -> None:
        asked = self.review()
        words = ("reviews", "approve", asked["review_id"], "--digest", asked["digest"], "--by", by)
        assert self.cli.json(*words).status == 0

    def other_model(self, folder: Path, *answers: Any) -> ModelServerProcess:
        """The model that a replay asks; the shop's environment leads to it from here on."""
        script = folder / "other.json"
        script.write_text(json.dumps([item_of(answer) for answer in answers]))
        other = ModelServerProcess(script=script)
        self.cli.environ |= other.environment
        return other


def name_of(view: dict[str, Any]) -> str:
    return f"run-{view['run_number']}/{view['sequence']}"


def exported(shop: Shop, file: Path, *more: str) -> Any:
    ended = shop.cli.json("decisions", "export", "--out", str(file), *more)
    assert missing(DECLARED["decisions export"].data, ended.data) == []
    return ended


def kept(shop: Shop) -> tuple[Any, ...]:
    """What a replay must leave as it is: the receiver's records and requests, and the ledger, byte for byte."""
    folder = shop.cli.folder
    database = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("counterfoil.db*"))
        if path.is_file() and not path.name.endswith("-shm") and path.stat().st_size
    }
    verified = shop.cli.json("verify").data
    return shop.sandbox.records(), shop.sandbox.requests(), database, verified
