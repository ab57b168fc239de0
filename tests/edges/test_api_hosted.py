"""A host's own ASGI application, in a process of its own, with the console and the worker in it."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx2

from tests.browser.house import House, house, served_by

PROGRAM = """
from contextlib import asynccontextmanager
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from counterfoil.console.asgi import asgi
from app import app

console = asgi(app, worker=True)

@asynccontextmanager
async def lifespan(host):
    async with console.router.lifespan_context(console):
        yield

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)

host = Starlette(routes=[Mount("/ops", console)], lifespan=lifespan)
Server(uvicorn.Config(host, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)).run()
"""


def test_the_worker_drives_runs_between_startup_and_shutdown_of_the_host(tmp_path: Path) -> None:
    with house(tmp_path, empty=True) as here:
        (here.cli.folder / "host.py").write_text(PROGRAM)
        with served_by(here, [sys.executable, "host.py"]) as process:
            _drives(here, process)
            process.send_signal(signal.SIGTERM)
            process.wait(30)
        (worker,) = here.cli.json("workers", "list").data["items"]
        assert worker["pid"] == process.pid
        assert worker["stopped_at"] is not None, "it left with the host, and said so"


def _drives(here: House, process: "subprocess.Popen[str]") -> None:
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    token = here.cli.json("tokens", "create", "ana", "--name", "host", "--days", "1").data["token"]
    with httpx2.Client(
        base_url=f"http://127.0.0.1:{port}/ops/api/v1", headers={"Authorization": f"Bearer {token}"}, timeout=30
    ) as client:
        body = {"workflow": "parcel", "input": {"number": "7"}, "request_id": "hosted"}
        run = client.post("/runs", json=body).json()["data"]["run_id"]
        assert [kind for kind in _kinds(client, run) if kind in ("in_flight", "finished")] == ["in_flight", "finished"]
        assert client.get(f"/runs/{run}").json()["data"]["state"] == "completed"
        (worker,) = client.get("/workers").json()["data"]["items"]
        assert (worker["pid"], worker["alive"]) == (process.pid, True)


def _kinds(client: httpx2.Client, run: str) -> list[Any]:
    """The kinds of its entries: the stream ends with the run."""
    with client.stream("GET", f"/runs/{run}/entries", headers={"Accept": "text/event-stream"}) as answer:
        lines: list[str] = []
        for line in answer.iter_lines():
            assert not line.startswith(":") or lines, "a sign of life, and nothing drives the run"
            lines.append(line)
    said = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    return [entry["kind"] for entry in said if "kind" in entry]
