"""A process ends in bounded time although code of the user's hangs in one of its threads."""

import json
import os
from pathlib import Path

import pytest

from tests.crash.test_suspects import WAIT, submit, worker
from tests.edges.cli_bench import Cli, installed

APP = """
import asyncio
from datetime import timedelta
from pathlib import Path
from pydantic import BaseModel
from counterfoil import App, Budget, Retry, Run, step

HERE = Path(__file__).parent
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="ana")
SOON = timedelta(milliseconds=100)

class Order(BaseModel):
    number: str
    item: str = "tea"

app = App("endings")

def hang() -> str:
    return (HERE / "never").read_text()  # nobody ever writes into it

@step(timeout=SOON, retry=Retry(tries=1))
def in_our_thread(order: Order) -> str:
    return hang()

@step(timeout=SOON, retry=Retry(tries=1))
async def in_the_loops_thread(order: Order) -> str:
    return await asyncio.to_thread(hang)

@app.workflow(version=1, budget=BUDGET)
async def ours(run: Run, order: Order) -> str:
    return await run.step(in_our_thread, order)

@app.workflow(version=1, budget=BUDGET)
async def loops(run: Run, order: Order) -> str:
    return await run.step(in_the_loops_thread, order)
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    cli = installed(tmp_path, app=APP)
    os.mkfifo(cli.folder / "never")
    return cli


@pytest.mark.parametrize("workflow", ["ours", "loops"])
@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_worker_ends_beside_a_thread_that_hangs(cli: Cli, workflow: str, processes: str) -> None:
    submit(cli, workflow)
    started = worker(cli, "--until-idle", "--processes", processes)
    out, err = started.communicate(timeout=WAIT)
    assert started.returncode == 0, err
    assert json.loads(out)["data"]["ended_by"] == "idle"
    assert cli.show()["state"] in ("failed", "parked")
