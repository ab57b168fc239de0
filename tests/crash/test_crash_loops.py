"""A crash loop spends no model money: real workers that are killed in a call of a real model server."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.testing.model_server.process import ModelServerProcess
from tests.crash.rows import row
from tests.edges.cli_bench import Cli, installed, order

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
WAIT = 60
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


def worked(cli: Cli, model: ModelServerProcess, crash_at: str, *options: str) -> "subprocess.CompletedProcess[bytes]":
    """A worker process until it ends: idle, or killed at a boundary."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    environ = clean | cli.environ | model.environment | {"COUNTERFOIL_CRASH_AT": crash_at}
    return subprocess.run(
        [*COMMAND, "worker", "--json", "--until-idle", *options], cwd=cli.folder, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=WAIT, check=False,
    )  # fmt: skip


def killed(cli: Cli, model: ModelServerProcess, crash_at: str) -> None:
    ended = worked(cli, model, crash_at)
    assert ended.returncode == -signal.SIGKILL, ended.stderr.decode()


@row("loop")
@pytest.mark.parametrize("options", [(), ("--processes", "2")], ids=["one worker", "a supervised one"])
def test_killed_twice_in_one_call_it_is_not_asked_a_third_time(
    cli: Cli, model: ModelServerProcess, options: tuple[str, ...]
) -> None:
    admitted = cli.json("submit", "looping", "--input", "-", "--request-id", "r", stdin=order("1"))
    run_id = admitted.data["run_id"]
    # The first answer is kept. Of the second the worker does not live to keep it: twice, at the same position.
    killed(cli, model, "before:decision.accepted#2")
    assert model.requests_answered() == 2
    killed(cli, model, "before:decision.accepted")
    assert model.requests_answered() == 3

    third = worked(cli, model, "none", *options)
    assert third.returncode == 0, third.stderr.decode()
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
    assert worked(cli, model, "none").returncode == 0
    assert model.requests_answered() == 3
    assert cli.json("runs", "resume", run_id, "--by", "oscar").status == 0
    assert worked(cli, model, "none").returncode == 0
    assert cli.show(run_id)["result"] == "one two" and model.requests_answered() == 4
    assert cli.json("verify").status == 0


def test_killed_twice_at_two_positions_it_goes_on(cli: Cli, model: ModelServerProcess) -> None:
    admitted = cli.json("submit", "looping", "--input", "-", "--request-id", "r", stdin=order("1"))
    killed(cli, model, "before:decision.accepted")
    killed(cli, model, "before:decision.accepted#2")
    assert worked(cli, model, "none").returncode == 0
    run = cli.show(admitted.data["run_id"])
    assert (run["state"], model.requests_answered()) == ("completed", 4)
