"""The command line in this process, over a folder of its own; and an application with one way into each state."""

import io
import json
import os
import shlex
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from counterfoil.cli.main import main

APP = """
from datetime import timedelta
from pydantic import BaseModel
from counterfoil import (
    App, Ask, Budget, Call, Contract, Env, Found, IdempotencyKey, Lookup, Receipt, Retry, ReviewBy, Run, Seen, StepFailed, When, step,
)

class Order(BaseModel):
    number: str
    item: str = "tea"

app = App("example")
app.receiver("shop", url=Env("SHOP_URL", "http://127.0.0.1:1"), environment="test")
SHORT = timedelta(milliseconds=200)
YES = [When(status="2xx").means("applied"), When(status={400, 422}).means("refused")]
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))

@app.operation(receiver="shop", contract=Contract(api_version="1", duplicate="costly", key=KEY, classifier=YES), business_key="number",
               review=ReviewBy(role="buyer", expires_in=timedelta(hours=8), owner="buying-lead"))
async def place_order(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/orders", json=order.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

@app.operation(receiver="shop", contract=Contract(api_version="1", classifier=YES, procedure="Ask the desk."), business_key="number",
               owner="desk")
async def send_letter(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/letters", json=order.model_dump())
    return Receipt(reference=str(reply.json()["id"]))

async def find_parcel(ask: Ask, order: Order) -> Seen[Receipt]:
    page = (await ask.http.get("/parcels", params={"reference": ask.operation_id})).json()
    found = [Found(Receipt(reference=item["id"]), payload=Order(**item["payload"])) for item in page["data"]]
    return Seen(found, complete=not page["has_more"])

@app.operation(receiver="shop", business_key="number", owner="desk",
               contract=Contract(api_version="1", duplicate="costly", classifier=YES, lookup=Lookup(find_parcel, consistency="strong",
                                 visible_within=SHORT, arrives_within=SHORT, pause=SHORT)))
async def send_parcel(call: Call, order: Order) -> Receipt:
    reply = await call.http.post("/parcels", json=order.model_dump(), headers={"Counterfoil-Operation": call.operation_id})
    return Receipt(reference=str(reply.json()["id"]))

@step(retry=Retry(tries=1))
async def impossible(order: Order) -> str:
    raise StepFailed("impossible", "there is no such order")

BUDGET = Budget(attempts=2, elapsed=timedelta(days=2), spend_usd=1, owner="desk")

@app.workflow(version=1, budget=BUDGET)
async def buy(run: Run, order: Order) -> Receipt:
    return await run.perform(place_order, order)

@app.workflow(version=1, budget=BUDGET)
async def letter(run: Run, order: Order) -> Receipt:
    return await run.perform(send_letter, order)

@app.workflow(version=1, budget=BUDGET)
async def parcel(run: Run, order: Order) -> Receipt:
    return await run.perform(send_parcel, order)

@app.workflow(version=1, budget=BUDGET)
async def broken(run: Run, order: Order) -> str:
    return await run.step(impossible, order)

@app.workflow(version=1, budget=BUDGET)
async def waits(run: Run, order: Order) -> str:
    return await run.wait_for("go", str, within=timedelta(hours=1))

@app.workflow(version=1, budget=BUDGET)
async def raises(run: Run, order: Order) -> str:
    raise ValueError("not a failure of a step")
"""


@dataclass(frozen=True)
class Ended:
    """How one command ended."""

    status: int
    out: str
    err: str

    @property
    def document(self) -> dict[str, Any]:
        """The one document on stdout."""
        lines = self.out.splitlines()
        assert len(lines) == 1, f"not one document: {self.out!r} {self.err!r}"
        return json.loads(lines[0])

    @property
    def data(self) -> Any:
        assert self.document["ok"], self.document
        return self.document["data"]

    @property
    def code(self) -> str:
        """The code of the error; the document says that it is one."""
        assert self.document["ok"] is False
        assert self.document["schema"] == "error/1"
        return self.document["error"]["code"]


class Terminal(io.TextIOWrapper):
    """Standard input that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@dataclass
class Cli:
    """`cli("runs", "list")` runs a command in `folder`; `json=True` adds --json."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)

    def __call__(self, *argv: str, stdin: bytes = b"", answers: str | None = None) -> Ended:
        """`answers`: what a person types, line by line, at a terminal. Without it there is no terminal."""
        out, err = io.StringIO(), io.StringIO()
        typed = Terminal(io.BytesIO(answers.encode())) if answers is not None else io.TextIOWrapper(io.BytesIO(stdin))
        with (
            _standing_in(self.folder),
            _environment(self.environ),
            mock.patch.multiple(sys, stdin=typed, stdout=out, stderr=err),
        ):
            status = main(argv)
        ended = Ended(status, out.getvalue(), err.getvalue())
        assert "Traceback (most recent call last)" not in ended.err + ended.out, ended
        return ended

    def json(self, *argv: str, stdin: bytes = b"") -> Ended:
        return self(*argv, "--json", stdin=stdin)

    def typed(self, command: str, *more: str, answers: str | None = None) -> Ended:
        """A command as it was printed."""
        name, *argv = shlex.split(command)
        assert name == "counterfoil"
        return self(*argv, *more, answers=answers)

    def submit(self, workflow: str, number: str = "1", *more: str) -> dict[str, Any]:
        """Submit an order, and drive until nothing is due."""
        ended = self.json(
            "submit", workflow, "--input", "-", "--request-id", f"{workflow}-{number}", *more, stdin=order(number)
        )
        return ended.data

    def refused(self, *argv: str, stdin: bytes = b"") -> tuple[int, str]:
        """The status and the code of a refusal."""
        ended = self.json(*argv, stdin=stdin)
        return ended.status, ended.code

    def approve(self, *more: str) -> dict[str, Any]:
        """Ana approves the newest open review."""
        review = self.json("reviews", "list", "--state", "open").data["items"][0]
        return self.json(
            "reviews", "approve", review["review_id"], "--digest", review["digest"], "--by", "ana", *more
        ).data

    def drive(self) -> None:
        assert self.json("worker", "--until-idle").status == 0

    def drive_to_a_stop(self, workflow: str) -> dict[str, Any]:
        """Drive one order's run until it ended or a person must move it: what waits for a pause is waited for."""
        for _ in range(60):
            self.drive()
            again = ("submit", workflow, "--input", "-", "--request-id", f"{workflow}-1", "--wait", "0.2")
            ended = self.json(*again, stdin=order("1"))
            if ended.status or ended.data["state"] == "completed":
                return self.show()
        raise AssertionError(self.show())

    def show(self, run: str = "run-1") -> dict[str, Any]:
        return self.json("runs", "show", run).data


def order(number: str) -> bytes:
    return json.dumps({"number": number, "item": "tea"}).encode()


def installed(folder: Path, *options: str, app: str = APP) -> Cli:
    """A folder that `init` has made, with the application above."""
    tour = folder / "tour"
    tour.mkdir()
    (tour / "app.py").write_text(app)
    outside = Cli(folder, {"COUNTERFOIL_STATE": str(folder / "state")})
    ended = outside.json("init", "tour", *options)
    assert ended.status == 0, ended
    return Cli(tour, outside.environ)


@contextmanager
def _standing_in(folder: Path) -> Generator[None, None, None]:
    """In a folder, as a new process would be: without modules that an earlier command loaded from another folder."""
    before, path = Path.cwd(), list(sys.path)
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
        sys.path[:] = path
        for name in ("app", "cli_code"):
            sys.modules.pop(name, None)


@contextmanager
def _environment(more: Mapping[str, str]) -> Generator[None, None, None]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    with mock.patch.dict(os.environ, {**kept, "COLUMNS": "200", **more}, clear=True):
        yield
