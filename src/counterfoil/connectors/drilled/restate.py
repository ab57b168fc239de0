"""Restate against a real server, which calls a real service: what that has carried out is counted there."""

import sys
from collections.abc import Mapping
from datetime import timedelta
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import restate
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    key_over,
    killed_after_acceptance,
    late_arrival,
    reply_lost,
    taken_over,
)
from counterfoil.connectors.serving import OverHttp
from counterfoil.engine.definitions import Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.errors import Refused
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.restate import RestateServer
from counterfoil.testing.servers.restate_service import READY
from counterfoil.testing.servers.started import Started

app = App("drilled-restate")
app.receiver("orders", url=Env("RESTATE_INGRESS"), environment="test")
call = restate.call(app, receiver="orders", owner="platform-oncall")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall"))
async def place(run: Run, asked: restate.Invocation) -> restate.InvocationReceipt:
    """One invocation."""
    return await run.perform(call, asked)


class Restate(OverHttp):
    """The server behind our proxy, and a service that notes what it carries out."""

    def __init__(self, folder: Path) -> None:
        for package in ("restate", "uvicorn"):
            if find_spec(package) is None:
                raise Refused(
                    "tool_missing", tool=f"The Python package {package}", install="Install restate-sdk, uvicorn."
                )
        self._notes = folder / "notes"
        self._server = RestateServer(folder / "restate")
        command = [sys.executable, "-m", "counterfoil.testing.servers.restate_service", str(self._notes)]
        self._service = Started("service for Restate", command)
        self._server.register(f"http://127.0.0.1:{self._service.wait_for(READY)}")
        super().__init__(ProxyProcess(self._server.ingress, key_header="idempotency-key"))
        self.environ: Mapping[str, str] = {"RESTATE_INGRESS": self.url}

    def prepare(self, number: str) -> dict[str, Any]:
        """Nothing but the payload."""
        self.disarm()
        return {"number": number, "service": "orders", "handler": "place", "body": {"number": number}}

    def records(self, payload: Mapping[str, Any]) -> int:
        """What the service has noted of this number."""
        noted = self._notes.read_text().splitlines() if self._notes.exists() else []
        return noted.count(payload["number"])

    def close(self) -> None:
        """End all three."""
        super().close()
        self._server.close()
        self._service.close()


DRILLS = [
    Drill(
        connector="restate.call",
        entries=[restate.ENTRY],
        app=app,
        workflow=place,
        server="restate-server 1.7.12",
        server_kind="real",
        start=Restate,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("taken-over", "succeeded", taken_over, attempts=2),
            Case("key-over", "succeeded", key_over, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
        ],
    )
]
