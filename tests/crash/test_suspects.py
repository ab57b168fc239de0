"""A run that brings its worker down: real processes, which its step kills from inside."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.edges.cli_bench import Cli, installed, order

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
WAIT = 60
APP = """
import asyncio, os, signal
from datetime import timedelta
from pathlib import Path
from pydantic import BaseModel
from counterfoil import App, Budget, Run

HERE = Path(__file__).parent
BUDGET = Budget(attempts=5, elapsed=timedelta(days=2), spend_usd=1, owner="ana")

class Order(BaseModel):
    number: str
    item: str = "tea"

app = App("suspects")

def deadly_step(order: Order) -> int:
    "Kills its process; once `gate` is there, it says where it runs and waits; once `good` is there, it behaves."
    gate = HERE / "gate"
    if gate.exists():
        with gate.open("w") as told:
            told.write(str(os.getpid()))
        (HERE / "go").read_text()
    if not (HERE / "good").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()

async def leaving_step(order: Order) -> int:
    "Kills its process twice. Then it sends its parent the signal, and ends once its own worker was told to end."
    from counterfoil.engine.worker import Worker
    if not (HERE / "tells").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    told, stop = asyncio.Event(), Worker.stop
    def stopped(worker):
        stop(worker)
        told.set()
    Worker.stop = stopped
    os.kill(os.getppid(), int((HERE / "tells").read_text()))
    await told.wait()
    return os.getpid()

def process(order: Order) -> int:
    return os.getpid()

@app.workflow(version=1, budget=BUDGET)
async def deadly(run: Run, order: Order) -> int:
    return await run.step(deadly_step, order)

@app.workflow(version=1, budget=BUDGET)
async def leaving(run: Run, order: Order) -> list[int]:
    return [await run.step(leaving_step, order), await run.step(process, order)]

@app.workflow(version=1, budget=BUDGET)
async def calm(run: Run, order: Order) -> int:
    return await run.step(process, order)
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path, app=APP)


def worker(cli: Cli, *options: str) -> "subprocess.Popen[bytes]":
    """A worker that hears signals."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    started = subprocess.Popen(
        [*COMMAND, "worker", "--json", *options], cwd=cli.folder, env=clean | cli.environ, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert started.stderr is not None
    assert b"the runs of" in started.stderr.readline()
    return started


def ended(process: "subprocess.Popen[bytes]") -> dict[str, Any]:
    """Tell it to end. Gives its answer."""
    process.terminate()
    out, err = process.communicate(timeout=WAIT)
    assert process.returncode == 0, err
    return json.loads(out)["data"]


def submit(cli: Cli, workflow: str, *more: str) -> None:
    arguments = ("submit", workflow, "--input", "-", "--request-id", f"{workflow}-1", *more)
    assert cli.json(*arguments, stdin=order("1")).document["ok"] is True


def settled(cli: Cli, workflow: str) -> dict[str, Any]:
    """The run of this workflow, once it ended or waits for a person."""
    submit(cli, workflow, "--wait", str(WAIT))
    (found,) = (run for run in cli.json("runs", "list").data["items"] if run["workflow"] == workflow)
    return cli.show(found["run_id"])


def crash_twice(cli: Cli, workflow: str) -> None:
    submit(cli, workflow)
    for _ in range(2):
        dying = worker(cli)
        dying.communicate(timeout=WAIT)
        assert dying.returncode == -signal.SIGKILL


def test_the_third_death_is_a_process_of_its_own(cli: Cli) -> None:
    crash_twice(cli, "deadly")
    for name in ("gate", "go"):
        os.mkfifo(cli.folder / name)
    third = worker(cli)
    child = int((cli.folder / "gate").read_text())
    assert child != third.pid

    during = settled(cli, "calm")
    assert during["state"] == "completed", "the worker goes on beside a suspect"
    assert third.poll() is None

    (cli.folder / "go").write_text("")
    dead = settled(cli, "deadly")
    assert (dead["state"], dead["reason"]) == ("parked", "poisoned")
    assert third.poll() is None, "the worker outlives it"
    submit(cli, "calm", "--wait", "1")
    (cli.folder / "gate").unlink()
    (cli.folder / "good").touch()
    cli.json("runs", "resume", dead["run_id"], "--by", "ana")
    assert settled(cli, "deadly")["state"] == "completed", "a person may let it try again"
    assert ended(third)["ended_by"] == "signal"
    assert cli.json("verify").status == 0


def test_a_suspect_that_behaves_completes_apart(cli: Cli) -> None:
    crash_twice(cli, "deadly")
    (cli.folder / "good").touch()
    third = worker(cli, "--until-idle")
    out, err = third.communicate(timeout=WAIT)
    assert third.returncode == 0, err
    assert json.loads(out)["data"]["ended_by"] == "idle"
    run = settled(cli, "deadly")
    assert run["state"] == "completed"
    assert f"drives run {run['run_id']} alone".encode() in err
    assert cli.json("verify").status == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_child_hands_over_when_its_parent_leaves(cli: Cli, number: signal.Signals) -> None:
    crash_twice(cli, "leaving")
    (cli.folder / "tells").write_text(str(int(number)))
    third = worker(cli)
    _, err = third.communicate(timeout=WAIT)  # the end of its stderr is the end of the child as well
    assert third.returncode == (0 if number is signal.SIGTERM else -number), err.decode()
    (listed,) = cli.json("runs", "list").data["items"]
    assert (listed["state"], listed["reason"]) == ("pending", None), "handed over, and no crash"
    last = worker(cli, "--until-idle")
    _, err = last.communicate(timeout=WAIT)
    assert last.returncode == 0, err.decode()
    assert settled(cli, "leaving")["state"] == "completed"
    assert cli.json("verify").status == 0


def test_several_processes_are_one_worker(cli: Cli) -> None:
    """One that dies is replaced, all are told together, and the answer names those that ended."""
    supervisor = worker(cli, "--processes", "2")
    assert supervisor.stderr is not None
    first = [supervisor.stderr.readline() for _ in range(2)]
    assert all(b"drives the runs of" in line for line in first)
    submit(cli, "deadly")  # fells one of them, then another, then one that is its own
    dead = settled(cli, "deadly")
    assert (dead["state"], dead["reason"]) == ("parked", "poisoned")
    submit(cli, "calm")
    calm = settled(cli, "calm")
    assert calm["state"] == "completed"
    answer = ended(supervisor)
    assert (answer["worker_id"], answer["ended_by"], answer["problems"]) == (None, "signal", [])
    assert {each["ended_by"] for each in answer["processes"]} == {"signal"}
    assert cli.json("verify").status == 0


def test_several_processes_end_when_idle(cli: Cli) -> None:
    submit(cli, "calm")
    supervisor = worker(cli, "--processes", "2", "--until-idle")
    out, err = supervisor.communicate(timeout=WAIT)
    assert supervisor.returncode == 0, err
    data = json.loads(out)["data"]
    assert (data["ended_by"], [each["ended_by"] for each in data["processes"]]) == ("idle", ["idle", "idle"])
    assert settled(cli, "calm")["state"] == "completed"


def test_workers_leave_when_their_supervisor_is_killed(cli: Cli) -> None:
    supervisor = worker(cli, "--processes", "2")
    assert supervisor.stderr is not None
    for _ in range(2):
        assert b"drives the runs of" in supervisor.stderr.readline()
    supervisor.kill()
    supervisor.communicate(timeout=WAIT)  # the end of its stderr is the end of its workers
    with_nothing_left = cli.json("worker", "--until-idle")
    assert with_nothing_left.data["ended_by"] == "idle"
