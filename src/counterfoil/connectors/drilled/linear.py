"""Linear's connector at our sandbox, which speaks as Linear does."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from counterfoil.connectors import linear
from counterfoil.connectors.drilling import (
    Case,
    Drill,
    as_usual,
    killed_after_acceptance,
    late_arrival,
    late_lookup,
    reply_lost,
)
from counterfoil.connectors.serving import SandboxServed
from counterfoil.connectors.serving_application import BUDGET, application, environ
from counterfoil.engine.port import Run
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.exchange import Reply, Request

TEAM = "9cfb482a-81e3-4154-b5b9-2c805e70a02d"

app = application("linear")
create = linear.create(app, receiver="linear", owner="support")


@app.workflow(version=1, budget=BUDGET)
async def raise_issue(run: Run, asked: linear.Issue) -> linear.IssueReceipt:
    """One issue."""
    return await run.perform(create, asked)


class GraphQL:
    """Everything is a POST to one place: a mutation writes, a query shows what was made under an id."""

    def asked(self, request: Request) -> Request | Reply:
        """A query is a read."""
        if not _is_query(request):
            return request
        wanted = as_object(request.json_object()["variables"])["id"]
        return replace(request, method="GET", query={"key": str(wanted), "limit": "10"}, body=b"")

    def told(self, request: Request, reply: Reply) -> Reply:
        """Inside a 200."""
        if reply.status >= 400:
            return reply
        if _is_query(request):
            nodes = [_issue(each) for each in as_objects(as_object(reply.body).get("data"))]
            return Reply(200, {"data": {"issues": {"nodes": nodes}}})
        return Reply(200, {"data": {"issueCreate": {"success": True, "issue": _issue(as_object(reply.body))}}})


class Workspace(SandboxServed):
    """Each case makes an issue of its own. An id is known for as long as its issue."""

    def __init__(self, folder: Path) -> None:
        kept = {"replay": "conflicts", "key_window_seconds": None, "replay_marker": False}
        super().__init__(folder, linear.create_contract(), dialect=GraphQL(), kept=kept)
        self.environ = environ("linear", self.url)

    def prepare(self, number: str) -> dict[str, Any]:
        """Its title is its number."""
        self.disarm()
        return {"number": number, "team": TEAM, "title": number, "text": "It is broken."}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The issues of its title."""
        return sum(1 for each in self.held() if _input(each)["title"] == payload["title"])


def _is_query(request: Request) -> bool:
    return str(request.json_object().get("query", "")).startswith("query")


def _input(shown: Mapping[str, object]) -> Mapping[str, object]:
    return as_object(as_object(shown.get("variables")).get("input"))


def _issue(shown: Mapping[str, object]) -> dict[str, object]:
    given = _input(shown)
    return {
        "id": given.get("id"),
        "identifier": "ENG-1",
        "url": "https://linear.app/acme/issue/ENG-1",
        "title": given.get("title"),
        "team": {"id": given.get("teamId")},
    }


DRILLS = [
    Drill(
        connector="linear.create",
        entries=[linear.ENTRY],
        app=app,
        workflow=raise_issue,
        server="the sandbox, speaking as Linear",
        server_kind="sandbox",
        start=Workspace,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
            Case("late-lookup", "succeeded", late_lookup, attempts=1),
        ],
    )
]
