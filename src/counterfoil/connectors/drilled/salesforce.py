"""Salesforce's connector at our sandbox, which speaks as Salesforce does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import salesforce
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
from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.loopback.exchange import Reply, Request

BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="sales-ops")

app = App("drilled-salesforce")
app.receiver("salesforce", url=Env("SALESFORCE_URL"), credential=Bearer(Env("SALESFORCE_TOKEN")), environment="test")
create = salesforce.create(app, receiver="salesforce", owner="sales-ops")


@app.workflow(version=1, budget=BUDGET)
async def record(run: Run, asked: salesforce.Record) -> Receipt:
    """One record."""
    return await run.perform(create, asked)


class Upserts:
    """PATCH at an external id makes the record or changes it; GET there shows it."""

    def asked(self, request: Request) -> Request | Reply:
        """The sandbox takes a chosen id by PUT."""
        return replace(request, method="PUT") if request.is_write else replace(request, query={})

    def told(self, request: Request, reply: Reply) -> Reply:
        """Its own id beside ours, and whether it was made."""
        if reply.status >= 300:
            return reply
        own = f"500{as_object(reply.body).get('id')}"
        if request.is_write:
            return Reply(reply.status, {"id": own, "success": True, "created": reply.status == 201})
        return Reply(200, {**as_object(as_object(reply.body).get("payload")), "Id": own})


class Org(SandboxServed):
    """Each case makes a record of its own."""

    def __init__(self, folder: Path) -> None:
        kept = {"client_id": True, "other_body": "overwrites"}
        super().__init__(folder, salesforce.create_contract(), dialect=Upserts(), kept=kept)
        self.environ: Mapping[str, str] = {"SALESFORCE_URL": self.url, "SALESFORCE_TOKEN": PLANTED}

    def prepare(self, number: str) -> dict[str, Any]:
        """Its subject is its number."""
        self.disarm()
        return {"number": number, "object": "Case", "values": {"Subject": number, "Priority": "High"}}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The records with its subject."""
        return sum(1 for each in self.held() if each["Subject"] == payload["number"])


DRILLS = [
    Drill(
        connector="salesforce.create",
        entries=[salesforce.ENTRY],
        app=app,
        workflow=record,
        server="the sandbox, speaking as Salesforce",
        server_kind="sandbox",
        start=Org,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance),
            Case("key-alone", "succeeded", key_alone, attempts=2),
            Case("key-over", "succeeded", key_over),
        ],
    )
]
