"""Tools of an MCP server in a process of its own: what it says of itself is believed only where the application says so, and a
tool that is an operation is under the ledger. What the server wrote down decides."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.rows import row
from tests.crash.tool_turns import played
from tests.crash.turns import DONE, Room

ROOT = Path(__file__).parents[2]
NOTE = {"order": "o-1", "text": "call back"}
PAY = {"order": "o-1", "amount": 5}
WRITES_THEN_READS = [[["n_add_note", NOTE]], [["n_read_notes", {"order": "o-1"}]], DONE]
MCP_DIES = ["mcp before", "mcp after"]


class Server:
    """The MCP server of one test: started and stopped, always at the address that the toolsets keep."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "mcp"
        self.process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        port = urlsplit(os.environ["MCP_URL"]).port
        script = ROOT / "tests" / "servers" / "mcp_desk.py"
        pipe = subprocess.PIPE
        command = [sys.executable, str(script), str(self.file), str(port)]
        self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)
        assert self.process.stdout is not None and self.process.stdout.readline().strip() == os.environ["MCP_URL"]

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def lines(self, tool: str | None = None) -> list[dict[str, Any]]:
        """What was called there."""
        found = [json.loads(each) for each in self.file.read_text().splitlines()]
        return [each for each in found if tool in (None, each["tool"])]


@pytest.fixture
def server(tmp_path: Path, forks: Children) -> Iterator[Server]:
    del forks  # which chooses the address
    started = Server(tmp_path)
    started.start()
    yield started
    started.stop()


@row("safe")
@pytest.mark.parametrize("dies", MCP_DIES)
@pytest.mark.parametrize("tool", ["read_notes", "set_note"])
def test_a_trusted_server_is_believed(room: Room, forks: Children, server: Server, tool: str, dies: str) -> None:
    """Its toolset is prefixed: trust survives that. What may run again does, and nobody is asked."""
    arguments = NOTE if tool == "set_note" else {"order": "o-1"}

    async def body() -> None:
        async with played(room, forks, tools.believer, [[[f"n_{tool}", arguments]], DONE]) as turn:
            await turn.dies(dies)
            assert await turn.to_the_end() == []
            turn.done()
            assert turn.operations() == []
            assert len(server.lines(tool)) == (2 if dies == "mcp after" else 1)

    asyncio.run(body())


@row("undeclared")
@pytest.mark.parametrize("dies", MCP_DIES)
def test_a_server_that_nobody_trusts_may_say_what_it_likes(
    room: Room, forks: Children, server: Server, dies: str
) -> None:
    """A tool that pays says that it only reads. It is called once, and nobody believes it."""

    async def body() -> None:
        async with played(room, forks, tools.doubter, [[["lying_pay", PAY]], [["lying_pay", PAY]], DONE]) as turn:
            await turn.dies(dies)
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "interrupted_tool")
            paid = server.lines("lying_pay")
            assert len(paid) == (1 if dies == "mcp after" else 0)
            await turn.resolved("succeeded" if paid else "failed")
            assert await turn.to_the_end() == []
            turn.done()
            assert server.lines("lying_pay") == paid

    asyncio.run(body())


@row("operation", "doubt")
@pytest.mark.parametrize(
    ("point", "written"),
    [("before:operation.in_flight#1", 1), ("after:operation.prepared#1", 1), ("after:operation.in_flight#1", 0),
     ("after:operation.replied#1", 1), ("before:operation.classified#1", 1), ("after:operation.classified#1", 1)],
)  # fmt: skip
def test_a_tool_under_the_ledger(room: Room, forks: Children, server: Server, point: str, written: int) -> None:
    """The model sees the server's tool; its write is an operation. This contract has no key: a doubt is a person's."""

    async def body() -> None:
        async with played(room, forks, tools.writer, [[["n_add_note", NOTE]], DONE], point) as turn:
            why: list[str | None] = []
            stored = await turn.driven()
            if not stored.state.ended:
                why.append(stored.reason)
                (operation,) = turn.waiting()
                assert not operation.undeclared and turn.balanced()["decisions"] == 1  # the model is not asked on
                await turn.resolved("succeeded" if server.lines("add_note") else "failed")
                await turn.driven()
            turn.done()
            assert turn.run.crashes == [9], turn.heard()
            in_doubt = point in (
                "after:operation.in_flight#1",
                "after:operation.replied#1",
                "before:operation.classified#1",
            )
            assert why == (["outcome_unknown"] if in_doubt else [])
            assert len(server.lines("add_note")) == written
            (operation,) = turn.operations()
            assert (operation.name, json.loads(operation.payload)) == ("add_note", NOTE)

    asyncio.run(body())


@row("business key")
def test_it_is_called_once_and_planned_again_it_is_reused(room: Room, forks: Children, server: Server) -> None:
    async def body() -> None:
        async with played(room, forks, tools.writer, [[["n_add_note", NOTE]], [["n_add_note", NOTE]], DONE]) as turn:
            assert await turn.to_the_end() == []
            turn.done()
            assert len(server.lines("add_note")) == 1 and "line 1" in turn.heard()

    asyncio.run(body())


@row("operation")
def test_an_error_of_the_tool_is_an_answer_that_the_contract_reads(room: Room, forks: Children, server: Server) -> None:
    async def body() -> None:
        script = [[["n_add_note", {"order": "o-1", "text": "no"}]], DONE]
        async with played(room, forks, tools.writer, script) as turn:
            assert await turn.to_the_end() == []
            turn.done()
            (operation,) = turn.operations()
            assert (operation.status.value, operation.reason) == ("failed", "refused")
            assert server.lines() == []

    asyncio.run(body())


@row("doubt")
@pytest.mark.parametrize("text", ["die before", "die after"])
def test_the_server_is_killed_under_the_call(room: Room, forks: Children, server: Server, text: str) -> None:
    note = {"order": "o-1", "text": text}

    async def body() -> None:
        async with played(room, forks, tools.writer, [[["n_add_note", note]], DONE]) as turn:
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "outcome_unknown")
            server.stop()
            server.start()
            assert len(server.lines("add_note")) == (1 if text == "die after" else 0)
            await turn.resolved("succeeded" if text == "die after" else "failed")
            assert await turn.to_the_end() == []
            turn.done()
            assert len(server.lines("add_note")) == (1 if text == "die after" else 0)

    asyncio.run(body())


@row("server")
def test_a_server_that_is_down_when_a_turn_begins(room: Room, forks: Children, server: Server) -> None:
    """The turn counts failed tries, and goes on when the server is there again: it is not failed for good."""

    async def body() -> None:
        server.stop()
        async with played(room, forks, tools.writer, WRITES_THEN_READS) as turn:
            child = turn.starts(work="tests.crash.tools:tried_twice")
            await asyncio.to_thread(child.wait)
            assert turn.bench.stored(turn.run).failed_tries >= 2
            assert turn.kinds().count("asked") == 0
            server.start()
            assert await turn.to_the_end() == []
            turn.done()
            assert len(server.lines("add_note")) == 1

    asyncio.run(body())


@row("server")
def test_a_server_that_is_down_when_a_turn_goes_on(room: Room, forks: Children, server: Server) -> None:
    """The same at a replay, behind a note that was interrupted."""

    async def body() -> None:
        async with played(room, forks, tools.writer, WRITES_THEN_READS) as turn:
            await turn.dies("mcp before")
            server.stop()
            child = turn.starts(work="tests.crash.tools:tried_twice")
            await asyncio.to_thread(child.wait)
            server.start()
            assert await turn.to_the_end() == ["interrupted_tool"]
            turn.done()
            assert len(server.lines("add_note")) == 1

    asyncio.run(body())


@row("server")
def test_a_server_that_stays_away_waits_for_the_budgets_owner(room: Room, forks: Children, server: Server) -> None:
    async def body() -> None:
        server.stop()
        async with played(room, forks, tools.writer, [DONE]) as turn:
            stored = await turn.driven()
            assert (stored.state, stored.reason) == ("parked", "budget_attempts")
            server.start()
            await turn.bench.app.runs.resume(turn.run.run_id, by="ana", raises={"attempts": 20})
            assert await turn.to_the_end() == []
            turn.done()

    asyncio.run(body())
