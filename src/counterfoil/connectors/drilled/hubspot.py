"""HubSpot's connector at our sandbox, which speaks as HubSpot does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import hubspot
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    key_alone,
    key_over,
    killed_after_acceptance,
    reply_lost,
)
from counterfoil.connectors.serving import PLANTED, SandboxServed
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.exchange import Reply, Request

BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="sales-ops")

app = App("drilled-hubspot")
app.receiver("hubspot", url=Env("HUBSPOT_URL"), credential=Bearer(Env("HUBSPOT_TOKEN")), environment="test")
create = hubspot.create(app, receiver="hubspot", owner="sales-ops")


@app.workflow(version=1, budget=BUDGET)
async def record(run: Run, asked: hubspot.Record) -> Receipt:
    """One record."""
    return await run.perform(create, asked)


class Objects:
    """A property that is unique: a second POST with its value is a 409, and GET finds by it."""

    def asked(self, request: Request) -> Request | Reply:
        """`GET /OBJECTS/VALUE?idProperty=NAME` asks for the record under a key."""
        if request.is_write:
            return request
        above, _, value = request.path.rpartition("/")
        return replace(request, path=above, query={"key": value, "limit": "1"})

    def told(self, request: Request, reply: Reply) -> Reply:
        """The record, or that there is none; of a conflict only words."""
        shown = as_object(reply.body)
        if request.is_write:
            said = {"status": "error", "category": "CONFLICT", "message": "Contact already exists."}
            return Reply(409, said) if reply.status == 409 else Reply(reply.status, shown)
        found = as_objects(shown.get("data"))
        return Reply(200, found[0]) if found else Reply(404, {"status": "error", "message": "resource not found"})


class Portal(SandboxServed):
    """Each case makes a contact of its own."""

    def __init__(self, folder: Path) -> None:
        kept = {"replay": "conflicts", "key_window_seconds": None, "mismatch_status": 409, "replay_marker": False}
        super().__init__(folder, hubspot.create_contract(), dialect=Objects(), kept=kept)
        self.environ: Mapping[str, str] = {"HUBSPOT_URL": self.url, "HUBSPOT_TOKEN": PLANTED}

    def prepare(self, number: str) -> dict[str, Any]:
        """Its name is its number."""
        self.disarm()
        return {"number": number, "object": "contacts", "properties": {"lastname": number, "company": "Acme"}}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The contacts of its name."""
        return sum(1 for each in self.held() if as_object(each["properties"])["lastname"] == payload["number"])


DRILLS = [
    Drill(
        connector="hubspot.create",
        entries=[hubspot.ENTRY],
        app=app,
        workflow=record,
        server="the sandbox, speaking as HubSpot",
        server_kind="sandbox",
        start=Portal,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance),
            Case("key-alone", "unresolved", key_alone),  # a 409 says that the value is taken, and not by whom
            Case("key-over", "succeeded", key_over),
        ],
    )
]
