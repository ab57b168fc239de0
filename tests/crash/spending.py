"""An application that uses one kind of one budget, and writes outside what it really used."""

import asyncio
import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

from counterfoil import App, Budget, Run, SharedBudget, step
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.testing.fake_clock import FakeClock

app = App("nothing yet")  # what the fork server is started with; each child makes its own

SECRET = "story"
LATER_S = 1000  # so much later the next process begins
REQUEST = "r-1"

KINDS = ("attempts", "elapsed", "tokens", "spend", "calls")
SCOPES = ("run", "conversation", "workflow", "business_day", "operation")
LIMITS: dict[str, dict[str, Any]] = {
    "attempts": {"attempts": 1},
    "elapsed": {"elapsed": timedelta(seconds=60)},
    "tokens": {"tokens": 3000},
    "spend": {"spend_usd": 0.1},
    "calls": {"calls": {"spender": 1}},
}
"""Enough for one use of each kind, and not for two."""
KILLED_AT = {"attempts": "step.try_failed", "calls": "step.ended"}  # else once a decision is accepted
FREE: dict[str, Any] = {"attempts": 99, "elapsed": timedelta(days=9), "spend_usd": 9}


class Spend(BaseModel):
    """`called` names the step or the agent; `conversation` as a turn's input has it."""

    times: int = 2
    called: str = "spender"
    conversation: str = "one"


class Spent:
    """A file outside: one line for each use."""

    def __init__(self, folder: Path) -> None:
        self._file = folder / "spent"

    def note(self, called: str) -> None:
        with self._file.open("a") as told:
            told.write(f"{called}\n")

    def count(self) -> int:
        return len(self._file.read_text().splitlines())


@dataclass(slots=True)
class Asked:
    """What an agent gives back: 2,500 tokens for 0.08 USD."""

    output: str = "done"
    usage: Any = None

    def __post_init__(self) -> None:
        self.usage = SimpleNamespace(requests=1, input_tokens=2400, output_tokens=100)

    def new_messages(self) -> list[Any]:
        return [SimpleNamespace(kind="response", cost=lambda: SimpleNamespace(total_price=Decimal("0.08")))]


class Agent:
    """Takes 100 seconds for its answer. With `fails` its first call of all brings none."""

    output_type = str
    model = "test:spender"

    def __init__(self, name: str, clock: FakeClock, spent: Spent, *, fails: bool) -> None:
        self.name, self._clock, self._spent, self._fails = name, clock, spent, fails

    async def run(self, prompt: Any) -> Asked:
        del prompt
        self._spent.note(self.name)
        if self._fails and self._spent.count() == 1:
            raise ConnectionError("the model is not reached")
        self._clock.advance(100)
        return Asked()


def _tool(name: str, spent: Spent) -> Callable[..., Any]:
    @step(name=name)
    def use(number: int) -> int:
        spent.note(name)
        return number

    return use


def application(folder: Path, kind: str, scope: str, *, later: int = 0) -> App:
    """Two workflows that spend alike. Of `kind` there is enough for one use in `scope`, of all else more than enough."""
    made = App("spending", db=os.environ.get("SPENDING_DB", str(folder / "db" / "spending.db")))
    made.clock = clock = FakeClock(1_800_000_000_000_000 + later * 1_000_000)
    spent = Spent(folder)
    agents = {name: Agent(name, clock, spent, fails=kind == "attempts") for name in ("spender", "other")}
    tools = {name: _tool(name, spent) for name in ("spender", "other")}

    async def spends(run: Run, wanted: Spend) -> int:
        for number in range(wanted.times):
            if kind == "calls":
                await run.step(tools[wanted.called], number)
            else:
                await run.decide(agents[wanted.called], str(number), prompt_version="1")
        return wanted.times

    own = Budget(**(FREE | (LIMITS[kind] if scope == "run" else {})), owner="lead")
    for name in ("first", "second"):

        async def workflow(run: Run, wanted: Spend) -> int:
            return await spends(run, wanted)

        workflow.__name__ = name
        made.workflow(version=1, budget=own)(workflow)
    if scope != "run":
        made.budget(SharedBudget(name="shared", scope=scope, owner="ops", **LIMITS[kind]))  # type: ignore[arg-type]
    return made


def founded(made: App) -> None:
    """Its database, and who owns its budgets."""
    people = tuple(NewPerson(name, (role,), hashed(SECRET, "c0")) for name, role in (("ana", "lead"), ("oscar", "ops")))
    made.open(Founding(people=people))


def named(made: App, name: str) -> Any:
    """A workflow of the application."""
    return made.registry.workflows[name, 1]


def lives(fork: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """A child: it uses what there is, and is killed once that is stored."""
    del fork, say
    kind, scope = arguments["kind"], arguments["scope"]
    os.environ["COUNTERFOIL_CRASH_AT"] = f"after:{KILLED_AT.get(kind, 'decision.accepted')}"
    made = application(Path(arguments["folder"]), kind, scope)
    founded(made)

    async def living() -> None:
        await made.submit(named(made, "first"), Spend(), request_id=REQUEST)
        await made.new_worker().run()

    asyncio.run(living())
