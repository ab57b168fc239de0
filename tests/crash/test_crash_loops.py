"""A crash loop spends no model money: real workers that are killed in a call of a real model server."""

import json
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from counterfoil.testing.children import Child, Children
from counterfoil.testing.model_server.process import ModelServerProcess
from tests.crash.commands import command
from tests.crash.rows import row
from tests.edges.cli_bench import Cli, installed, order

RESERVE = "0.1"  # of two calls, in USD: what nobody measured
APP = """
from datetime import timedelta
from pydantic import BaseModel
from pydantic_ai import Agent
from counterfoil import App, Budget, Owner, Run, SharedBudget

OWNER = Owner("oscar", within=timedelta(hours=2), then="ana")
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, tokens=50_000, owner=OWNER)

class Order(BaseModel):
    number: str
    item: str = "tea"

app = App("looping")
app.budget(SharedBudget(name="today", scope="business_day", spend_usd=9, owner="ana"))
clerk = Agent("openai-chat:local", name="clerk", defer_model_check=True)

@app.workflow(version=1, budget=BUDGET)
async def looping(run: Run, order: Order) -> str:
    first = await run.decide(clerk, f"first {order.number}", prompt_version="1")
    return first + await run.decide(clerk, f"second {order.number}", prompt_version="1")
"""


@pytest.fixture
def model(tmp_path: Path) -> Iterator[ModelServerProcess]:
    script = tmp_path / "script.json"
    script.write_text(json.dumps([{"text": "one "}] + [{"text": "two"}] * 9))
    started = ModelServerProcess(script=script)
    yield started
    started.close()


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path, app=APP)


@dataclass(frozen=True)
class Workers:
    """Worker processes of the application, by its own command line."""

    cli: Cli
    model: ModelServerProcess
    forks: Children

    def worked(self, crash_at: str, *options: str) -> Child:
        """One until it ends: idle, or killed at a boundary."""
        environ = self.cli.environ | self.model.environment | {"COUNTERFOIL_CRASH_AT": crash_at}
        argv = ("worker", "--json", "--until-idle", *options)
        return command(self.forks, self.cli.folder, *argv, environ=environ)

    def idle(self, *options: str) -> None:
        ended = self.worked("none", *options)
        assert ended.exit_code == 0, ended.wrote()

    def killed(self, crash_at: str) -> None:
        ended = self.worked(crash_at)
        assert ended.exit_signal == signal.SIGKILL, ended.wrote()


@pytest.fixture
def workers(cli: Cli, model: ModelServerProcess, servers: Children) -> Workers:
    """Forked from a process that has imported what an agent's application needs."""
    return Workers(cli, model, servers)


@row("loop")
@pytest.mark.parametrize("options", [(), ("--processes", "2")], ids=["one worker", "a supervised one"])
def test_killed_twice_in_one_call_it_is_not_asked_a_third_time(workers: Workers, options: tuple[str, ...]) -> None:
    cli, model = workers.cli, workers.model
    admitted = cli.json("submit", "looping", "--input", "-", "--request-id", "r", stdin=order("1"))
    run_id = admitted.data["run_id"]
    # The first answer is kept. Of the second the worker does not live to keep it: twice, at the same position.
    workers.killed("before:decision.accepted#2")
    assert model.requests_answered() == 2
    workers.killed("before:decision.accepted")
    assert model.requests_answered() == 3

    workers.idle(*options)
    assert model.requests_answered() == 3, "the model is not asked again"
    run = cli.show(run_id)
    assert (run["state"], run["reason"]) == ("parked", "poisoned")
    assert run["owner"] == "oscar" and run["deadline_at"] is not None
    assert "asked twice at one position" in run["sentence"] and "resume the run" in run["sentence"]
    assert run["next_action"]["command"].startswith(f"counterfoil runs resume run-{run['number']}")

    entries = [entry["kind"] for entry in run["records"]["execution_state"]["entries"]]
    assert entries.count("decision") + entries.count("lost") == model.requests_answered()
    spent = {each["scope"]: each for each in run["budgets"] if each["kind"] == "spend"}
    assert spent["run"]["used"] == spent["business_day"]["used"] == RESERVE, (
        "what was lost is not measured, and not zero"
    )
    assert spent["run"]["reserved"] == spent["business_day"]["reserved"] == "0"
    (today,) = cli.json("budgets", "list").data["items"]
    assert today["unmeasured"] == 2

    # However often it is looked at: a person must have looked first.
    workers.idle()
    assert model.requests_answered() == 3
    assert cli.json("runs", "resume", run_id, "--by", "oscar").status == 0
    workers.idle()
    assert cli.show(run_id)["result"] == "one two" and model.requests_answered() == 4
    assert cli.json("verify").status == 0


def test_killed_twice_at_two_positions_it_goes_on(workers: Workers) -> None:
    cli, model = workers.cli, workers.model
    admitted = cli.json("submit", "looping", "--input", "-", "--request-id", "r", stdin=order("1"))
    workers.killed("before:decision.accepted")
    workers.killed("before:decision.accepted#2")
    workers.idle()
    run = cli.show(admitted.data["run_id"])
    assert (run["state"], model.requests_answered()) == ("completed", 4)
