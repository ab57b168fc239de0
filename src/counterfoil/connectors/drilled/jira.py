"""Jira's connector at our sandbox, which speaks as Jira does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import jira
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    killed_after_acceptance,
    late_arrival,
    late_lookup,
    reply_lost,
)
from counterfoil.connectors.serving import PLANTED, SandboxServed
from counterfoil.engine.definitions import Bearer, Env
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.receipt import Receipt
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.exchange import Reply, Request

ISSUES = "/rest/api/3/issue"

app = App("drilled-jira")
app.receiver("jira", url=Env("JIRA_URL"), credential=Bearer(Env("JIRA_TOKEN")), environment="test")
create = jira.create(app, receiver="jira", owner="support")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="support"))
async def raise_issue(run: Run, asked: jira.Issue) -> Receipt:
    """One issue."""
    return await run.perform(create, asked)


class Search:
    """A search by label, over what was created."""

    def asked(self, request: Request) -> Request | Reply:
        """Everything; what fits is chosen when it is told."""
        return request if request.is_write else replace(request, path=ISSUES, query={"limit": "100"})

    def told(self, request: Request, reply: Reply) -> Reply:
        """Issues under a key of their own."""
        if reply.status >= 400:
            return reply
        shown = as_object(reply.body)
        if request.is_write:
            return Reply(201, {"id": shown.get("id"), "key": f"SUP-{shown.get('id')}"})
        wanted = request.query["jql"].split('"')[1]
        fit = [each for each in as_objects(shown.get("data")) if _labels(each) == [wanted]]
        return Reply(200, {"issues": [{"key": f"SUP-{each['id']}", "fields": each["fields"]} for each in fit]})


class Site(SandboxServed):
    """Each case makes an issue of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, jira.create_contract(), dialect=Search(), kept={"lookup_consistency": "strong"})
        self.environ: Mapping[str, str] = {"JIRA_URL": self.url, "JIRA_TOKEN": PLANTED}

    def prepare(self, number: str) -> dict[str, Any]:
        """Its summary is its number."""
        self.disarm()
        return {
            "number": number,
            "project": "SUP",
            "type": "Bug",
            "summary": number,
            "text": "It is broken.\n\nSince today.",
        }

    def records(self, payload: Mapping[str, Any]) -> int:
        """The issues of its summary."""
        return sum(1 for each in self.held() if as_object(each["fields"])["summary"] == payload["summary"])


def _labels(shown: Mapping[str, object]) -> object:
    return as_object(shown.get("fields")).get("labels")


DRILLS = [
    Drill(
        connector="jira.create",
        entries=[jira.ENTRY],
        app=app,
        workflow=raise_issue,
        server="the sandbox, speaking as Jira",
        server_kind="sandbox",
        start=Site,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
            Case("late-lookup", "succeeded", late_lookup, attempts=1),
        ],
    )
]
