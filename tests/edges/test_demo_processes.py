"""The demo's processes: each command has its own, they share nothing but what was imported, and none outlives the demo."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from counterfoil.app.located import InFile
from counterfoil.examples.demo.onboarding import APP
from counterfoil.examples.demo.processes import Commands, Crash, WarmProcess
from counterfoil.model.errors import CounterfoilError
from tests.edges import stories


@asynccontextmanager
async def commands(tmp_path: Path) -> AsyncIterator[Commands]:
    from counterfoil import settings

    with stories.apart(tmp_path / "state"):
        async with WarmProcess(APP, tmp_path / "warm.log") as warm:
            yield Commands(
                warm,
                tmp_path,
                InFile(tmp_path / "kept" / "counterfoil.db"),
                dict(settings.environment()),
                tmp_path / "log",
            )


def test_each_command_is_a_process_with_an_environment_of_its_own(tmp_path: Path) -> None:
    async def told() -> None:
        async with commands(tmp_path) as typed:
            made = await typed.run("init", str(tmp_path / "kept"), "--app", APP)
            secret = typed.of_story({"COUNTERFOIL_SECRET": "of this command alone"}, Crash())
            first, second = await asyncio.gather(secret.run("settings"), typed.run("settings"))
            assert len({made.pid, first.pid, second.pid, os.getpid()}) == 4
            shown = [
                next(item["value"] for item in ended.data["items"] if item["name"] == "COUNTERFOIL_SECRET")
                for ended in (first, second)
            ]
            assert shown == ["set", "not set"]

    asyncio.run(told())


def test_a_command_that_is_refused_is_told_apart_from_one_that_was_killed(tmp_path: Path) -> None:
    async def told() -> None:
        async with commands(tmp_path) as typed:
            refused = await typed.run("runs", "show", "run-1")
            assert (refused.status, refused.killed) == (4, False)
            with pytest.raises(CounterfoilError, match="There is no database"):
                _ = refused.data
            armed = typed.of_story({}, Crash("installation.changed"))
            killed = await armed.run("init", str(tmp_path / "kept"), "--app", APP)
            assert (killed.killed, killed.document, armed.crash.pid) == (True, None, killed.pid)

    asyncio.run(told())


def test_no_process_outlives_the_demo(tmp_path: Path) -> None:
    async def told() -> int:
        async with commands(tmp_path) as typed:
            _ = (await typed.run("init", str(tmp_path / "kept"), "--app", APP)).data
            worker = await typed.worker()
            assert not worker.gone
        assert await worker.ended == -signal.SIGKILL
        return worker.pid

    pid = asyncio.run(told())
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
