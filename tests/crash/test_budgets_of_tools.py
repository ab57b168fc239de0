"""Calls of a named tool, whatever the tool is, in each scope: counted once by a process that is killed, refused in another."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from signal import SIGKILL

import pytest

from counterfoil.app.verification import verify
from counterfoil.testing.children import Children
from tests.crash.spending import LATER_S
from tests.crash.test_budgets import Next
from tests.crash.tool_spending import SCOPES, TOOLS, application, name_of


@pytest.fixture(scope="module")
def spenders() -> Iterator[Children]:
    with Children("tests.crash.tool_spending:app") as forked:
        yield forked


@contextmanager
def notes_server(file: Path) -> Iterator[str]:
    """An MCP server in a process of its own, which leaves a line in the file for each call. Gives its address."""
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tests.servers.mcp_desk", str(file), "0"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("tool", TOOLS)
def test_a_call_of_the_model_is_counted_once_over_a_kill(
    tool: str, scope: str, tmp_path: Path, spenders: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first call is under way when its worker dies, and is finished by the next one: it is still one call."""
    with notes_server(tmp_path / "spent") if tool == "mcp" else nullcontext("") as url:
        monkeypatch.setenv("MCP_URL", url)
        _killed_and_refused(tool, scope, tmp_path, spenders, monkeypatch)


def _killed_and_refused(
    tool: str, scope: str, tmp_path: Path, spenders: Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "db").mkdir()
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    environ = {name: os.environ[name] for name in ("COUNTERFOIL_STATE", "MCP_URL")}
    arguments = {"folder": str(tmp_path), "tool": tool, "scope": scope}
    child = spenders.start("tests.crash.tool_spending:lives", arguments, log=tmp_path / "log", environ=environ)
    child.wait()
    assert child.exit_signal == SIGKILL, child.wrote()

    after = Next(tmp_path, "calls", scope, made=application(tmp_path, tool, scope, later=LATER_S))
    asyncio.run(_refused_and_raised(after, tool))
    report = verify(after.app.open)
    assert report["broken"] == [] and report["differences"] == [], report
    after.app.close()


async def _refused_and_raised(after: Next, tool: str) -> None:
    (first,) = [each["run_id"] for each in after.app.runs.list()["items"] if each["workflow"] == "desk"]
    async with after.working():
        parked = await after.state(first, "parked")
        assert (parked.reason, after.used()) == ("budget_calls", 1)
        assert parked.owner == ("lead" if after.scope == "run" else "ops")
        shown = after.app.runs.show(first)
        lines = [each for each in shown["budgets"] if (each["kind"], each["scope"]) == ("calls", after.scope)]
        (line,) = [each for each in lines if after.scope != "operation" or each["key"] == name_of(tool)]
        assert line["used"] == 1
        assert name_of(tool) in parked.sentence
        await after.lift(first, {f"calls:{name_of(tool)}": "2"})
        await after.state(first, "completed")
        assert after.used() == 2
