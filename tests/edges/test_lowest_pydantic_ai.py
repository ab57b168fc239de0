"""Agents against the lowest Pydantic AI that is supported; an older one is refused at start."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai.capabilities import AbstractCapability

from counterfoil.model.errors import Refused
from tests.architecture.source import ROOT
from tests.engine.house import BUDGET, House
from tests.engine.test_agent_turn import DONE, agent_with, numbered

LOWEST = ROOT / ".build" / "lowest"  # scripts/set_up.py brings it
PROGRAM = "import pydantic_ai, sys; from importlib.metadata import version; print(version('pydantic-ai-slim'), pydantic_ai.__file__)"

# Turns, messages, conversations; then with workers that are killed: tools of an MCP server, an approval, an agent that exists.
TRIED = (
    "tests/unit/test_agent_messages.py",
    "tests/engine/test_agent_turn.py",
    "tests/engine/test_agent_talk.py",
    "tests/engine/test_beside_pydantic_ai.py",
    "tests/crash/test_tools_mcp.py::test_a_tool_under_the_ledger[sqlite-after:operation.prepared#1-1]",
    "tests/crash/test_tools_review.py::test_approved_it_runs_once",
    "tests/crash/test_adoption.py::test_killed_it_answers_as_it_does_alone[decision.accepted]",
)


def test_turns_run_on_the_lowest_version() -> None:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(LOWEST), str(ROOT / "src"), str(ROOT)])}
    told = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True)
    version, place = told.stdout.split()
    (wanted,) = (line for line in (ROOT / "requirements-lowest.in").read_text().split() if "slim" in line)
    assert f"pydantic-ai-slim=={version}" == wanted and Path(place).is_relative_to(LOWEST)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *TRIED]
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:]


def test_a_version_that_cannot_be_attached_to_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(AbstractCapability, "get_wrapper_model")
    house = House(tmp_path, monkeypatch)
    with pytest.raises(Refused) as refused:
        house.app.agent("desk", agent=agent_with(numbered(DONE)), budget=BUDGET)
    assert refused.value.code == "agent_library_too_old"
