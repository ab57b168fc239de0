"""The command `drill`, typed: its document, its exit status, its list, and the command that repeats one case."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from counterfoil.cli.drill import SHAPE
from counterfoil.drills.plan import NAMED
from tests.edges.cli_shapes import missing

ROOT = Path(__file__).parents[2]
WRITE = "tests.drills.core_workflows:write"
APP = """
from datetime import timedelta

from pydantic import BaseModel

from counterfoil import App, Budget, Run


class Letter(BaseModel):
    number: str


async def weigh(number: str) -> int:
    return len(number)


app = App("letters")


@app.workflow(version=1, budget=Budget(attempts=3, elapsed=timedelta(days=2), spend_usd=1, owner="lead"))
async def write(run: Run, letter: Letter) -> int:
    return await run.step(weigh, letter.number)


@app.workflow(version=1, budget=Budget(attempts=3, elapsed=timedelta(days=2), spend_usd=1, owner="lead"))
async def part(run: Run, letter: Letter) -> int:
    return await run.step(weigh, letter.number)
"""
SCENARIOS = """
from counterfoil.drills.scenario import Scenario

short = Scenario(workflow="write", name="short", input={"number": "n-1"})
long = Scenario(workflow="write", name="long", input={"number": "n-1000"}, only=("kill-*",))
"""


def typed(command: list[str] | str, cwd: Path = ROOT) -> tuple[int, dict[str, Any]]:
    """A list is ours; a text is what was printed, read by a shell."""
    environ = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    words = (
        command
        if isinstance(command, str)
        else [sys.executable, "-m", "counterfoil", *command, "--json", "--jobs", "1"]
    )
    done = subprocess.run(
        words,
        cwd=cwd,
        env=environ,
        shell=isinstance(command, str),
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    return done.returncode, json.loads(done.stdout)


def test_one_case_and_the_command_that_repeats_it() -> None:
    status, document = typed(["drill", WRITE, "--only", "write/operation.replied#1/kill-after", "--seed", "3"])
    data = document["data"]
    assert status == 0 and missing(SHAPE, data) == []
    assert data["target_digest"].startswith("sha256:") and data["versions"]["workflows"] == {"write": 3}
    (case,) = data["cases"]
    assert (case["case_id"], case["name"]) == ("write/operation.replied#1/kill-after", "accepted-no-receipt")
    assert case["boundary"] in data["boundaries"] and case["reasons"] == []
    status, again = typed(f"{sys.executable} -m {case['repeat']} --json --jobs 1")
    (repeated,) = again["data"]["cases"]
    assert status == 0 and repeated["case_id"] == case["case_id"] and repeated["verdict"] == "pass"
    assert repeated["proposal_digest"] == case["proposal_digest"], "the seed gave the same input"


def test_a_failure_is_exit_1_and_nothing_to_play_exit_2() -> None:
    status, document = typed(["drill", WRITE.replace("write", "careless"), "--only", "*step.ended#1/kill-before"])
    assert status == 1 and document["data"]["summary"]["failed"] == document["data"]["summary"]["cases"] == 1
    status, document = typed(["drill", WRITE, "--only", "nothing*"])
    assert status == 2 and document["error"]["code"] == "usage"


def test_what_an_unresolved_case_prints_can_be_typed() -> None:
    status, document = typed(["drill", WRITE, "--only", "step-always-fails"])
    (case,) = document["data"]["cases"]
    command, kept = case["next_action"]["command"], Path(document["data"]["kept"])
    try:
        assert status == 0 and case["outcome"] == "unresolved" and f"--db {kept}/" in command
        assert [each.name for each in kept.glob("player-*/case-*/*")] == ["ledger"], "nothing else stays"
        app = WRITE.replace(":write", ":app")
        status, answered = typed(f"{sys.executable} -m {command} --app {app} --json")
        assert (status, answered["data"]["state"]) == (0, "pending")
    finally:
        shutil.rmtree(kept)


def test_the_named_drills_are_listed() -> None:
    """Each is one case of the matrix; a listed case has no verdict of its own."""
    status, document = typed(["drill", "counterfoil.examples.refund.app:refund", "--list"])
    data = document["data"]
    assert status == 0 and data["summary"]["cases"] == data["summary"]["not_run"] == len(data["cases"])
    assert sorted(case["name"] for case in data["cases"] if case["name"]) == sorted(each.name for each in NAMED)


def test_a_project_folder_with_scenarios_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "counterfoil.toml").write_text('app = "own_letters:app"\n')
    (tmp_path / "own_letters.py").write_text(APP)
    (tmp_path / "drills.py").write_text(SCENARIOS)
    status, document = typed(["drill", f"{tmp_path}/", "--only", "write/*/run.claimed#1/kill-*"])
    assert status == 0
    ids = [case["case_id"] for case in document["data"]["cases"]]
    assert ids == [
        f"write/{name}/run.claimed#1/{fault}" for name in ("short", "long") for fault in ("kill-before", "kill-after")
    ]
    assert [warning["code"] for warning in document["warnings"]] == ["drill_left_out"], "`part` has no scenario"
