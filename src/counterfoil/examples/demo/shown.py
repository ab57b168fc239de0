"""After the stories: the console over their database, open at the run that nobody but a person can move on."""

import asyncio
import json
import signal
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack, closing, suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from counterfoil.examples.demo.model import LocalModel, ProviderModel
from counterfoil.examples.demo.receivers import SandboxReceiver
from counterfoil.examples.demo.telling import Telling
from counterfoil.model.errors import CounterfoilError, Refused

OPERATOR = "oscar"  # who approved does not resolve alone, and ana approved
PORT = 8765
NEEDED = ("fastapi", "jinja2", "uvicorn")
INSTALL = "pip install 'counterfoil[demo,console]'"


def installed() -> None:
    """Raises Refused(tool_missing) when the console is not there."""
    for package in NEEDED:
        if find_spec(package) is None:
            raise Refused("tool_missing", tool=f"The Python package {package}", install=f"Install it: {INSTALL}")


async def show(
    stories: list[dict[str, Any]], folder: Path, app: str, environment: Mapping[str, str], telling: Telling, port: int
) -> str:
    """Serve until this process is told to end, with the receiver and the model that the run may still need. Gives the address."""
    story = next(story for story in stories if story["outcome"] == "unresolved")
    kind, run = story["receiver_kind"], story["run"]
    async with AsyncExitStack() as stack:
        records = folder / f"{story['name']}.records.jsonl"
        receiver = await asyncio.to_thread(SandboxReceiver, kind, records=records)
        stack.enter_context(closing(receiver))
        model = await asyncio.to_thread(ProviderModel if "OPENAI_API_KEY" in environment else LocalModel)
        stack.enter_context(closing(model))
        own = {**environment, **model.environment, "CRM_URL": receiver.url}
        server, url = await _started(folder, app, own, port)
        address = f"{url}/runs/{run['run_id']}"
        telling.console_open(address, run["number"], OPERATOR)
        await _until_told(server)
        return address


async def _started(
    folder: Path, app: str, environment: Mapping[str, str], port: int
) -> tuple[asyncio.subprocess.Process, str]:
    """The console's process and its address; where the port is taken, a free one."""
    for wanted in (port, 0):
        words = ("serve", "--json", "--development", "--as", OPERATOR, "--port", str(wanted), "--app", app)
        with (folder / "demo.log").open("ab") as log:
            server = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "counterfoil", *words, cwd=folder, env=dict(environment),
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
                start_new_session=True,  # Ctrl-C goes to the demo, which ends what it started
            )  # fmt: skip
        assert server.stdout is not None, "it is a pipe"
        said = json.loads(await server.stdout.readline() or b"{}")
        if said.get("ok"):
            return server, said["data"]["url"]
        await server.wait()
    raise CounterfoilError("defect", problem=f"The console did not start. See {folder / 'demo.log'}.")


async def _until_told(server: asyncio.subprocess.Process) -> None:
    told = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, told.set)
    waits = [asyncio.create_task(told.wait()), asyncio.create_task(server.wait())]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        with suppress(ProcessLookupError):
            server.terminate()
        await server.wait()
        waits[0].cancel()
