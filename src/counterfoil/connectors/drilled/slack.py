"""Slack's connector at our sandbox, which speaks as Slack does."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import slack
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
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.exchange import Reply, Request

POSTED = "/api/chat.postMessage"

app = App("drilled-slack")
app.receiver("slack", url=Env("SLACK_URL"), credential=Bearer(Env("SLACK_TOKEN")), environment="test")
post = slack.post(app, receiver="slack", owner="support")


@app.workflow(version=1, budget=Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="support"))
async def say(run: Run, asked: slack.Message) -> slack.MessageReceipt:
    """One message."""
    return await run.perform(post, asked)


class Channels:
    """A channel's history shows what was posted to it, with its metadata."""

    def asked(self, request: Request) -> Request | Reply:
        """The history of a channel is its messages."""
        if request.is_write:
            return request
        return replace(request, path=POSTED, query={"channel": request.query["channel"], "limit": "100"})

    def told(self, request: Request, reply: Reply) -> Reply:
        """Inside a 200, always."""
        if reply.status >= 500:
            return reply
        if request.is_write:
            return Reply(200, {"ok": True, **_message(as_object(reply.body))})
        shown = [_message(each) for each in as_objects(as_object(reply.body).get("data"))]
        return Reply(200, {"ok": True, "messages": shown, "has_more": False})


class Workspace(SandboxServed):
    """Each case posts to a channel of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, slack.post_contract(), dialect=Channels())
        self.environ: Mapping[str, str] = {"SLACK_URL": self.url, "SLACK_TOKEN": PLANTED}
        self._channel = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """Its channel."""
        self.disarm()
        self._channel += 1
        return {"number": number, "channel": f"C{self._channel:08}", "text": "The parcel is on its way."}

    def records(self, payload: Mapping[str, Any]) -> int:
        """The messages in its channel."""
        return sum(1 for each in self.held() if each["channel"] == payload["channel"])


def _message(shown: Mapping[str, object]) -> dict[str, object]:
    return {"ts": f"1700000000.{shown.get('id')}", "text": shown.get("text"), "metadata": shown.get("metadata")}


DRILLS = [
    Drill(
        connector="slack.post",
        entries=[slack.ENTRY],
        app=app,
        workflow=say,
        server="the sandbox, speaking as Slack",
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
