"""GitHub's connector at our sandbox, which speaks as GitHub does: no real one runs on one machine."""

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.connectors import github
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

BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform")
REPOSITORY = "acme/shop"
HEAD = "5f3c1d0e" * 5

app = App("drilled-github")
app.receiver("github", url=Env("GITHUB_URL"), credential=Bearer(Env("GITHUB_TOKEN")), environment="test")
comment = github.comment(app, receiver="github", owner="platform")
merge = github.merge(app, receiver="github", owner="platform")


@app.workflow(version=1, budget=BUDGET)
async def say(run: Run, asked: github.Comment) -> github.CommentReceipt:
    """One comment."""
    return await run.perform(comment, asked)


@app.workflow(version=1, budget=BUDGET)
async def take_in(run: Run, asked: github.Merge) -> Receipt:
    """One merge."""
    return await run.perform(merge, asked)


class Comments:
    """A list is an array, and is asked by `since`, `per_page` and `page`."""

    def asked(self, request: Request) -> Request | Reply:
        """A later page than the first is empty: a drill makes a handful."""
        if request.is_write:
            return request
        if int(request.query["page"]) > 1:
            return Reply(200, [])
        return replace(request, query={"limit": request.query["per_page"]})

    def told(self, request: Request, reply: Reply) -> Reply:
        """Comments, as GitHub shows them."""
        if request.is_write or reply.status != 200:
            return replace(reply, body=_comment(as_object(reply.body)))
        return Reply(200, [_comment(each) for each in as_objects(as_object(reply.body)["data"])])


class Merges:
    """A pull request that is merged or not; its head is HEAD."""

    def __init__(self) -> None:
        self._merged: dict[str, str] = {}  # commit -> where its pull request is

    def asked(self, request: Request) -> Request | Reply:
        """A merge is the one object of its pull request; another head than HEAD is a 409 before that."""
        if request.is_write:
            if request.json_object().get("sha") != HEAD:
                return Reply(409, {"message": "Head branch was modified. Review and try the merge again."})
            return request
        above, _, last = request.path.rpartition("/")
        place = self._merged.get(last, "") if above.endswith("/commits") else request.path
        return replace(request, path=f"{place}/merge", query={})

    def told(self, request: Request, reply: Reply) -> Reply:
        """A second merge of the same pull request is a 405."""
        if request.is_write:
            made = self._commit(request.path.removesuffix("/merge"))
            if reply.status == 201:
                return Reply(200, {"sha": made, "merged": True})
            return Reply(405, {"message": "Pull Request is not mergeable"}) if reply.status == 409 else reply
        if "/commits/" in request.path:
            shown = as_object(reply.body)
            return Reply(reply.status, {"commit": {"message": f"{shown['commit_title']}\n\n{shown['commit_message']}"}})
        merged = reply.status == 200
        return Reply(200, {"merged": merged, "merge_commit_sha": self._commit(request.path) if merged else None})

    def _commit(self, pull: str) -> str:
        made = hashlib.sha1(pull.encode(), usedforsecurity=False).hexdigest()
        self._merged[made] = pull
        return made


class Issues(SandboxServed):
    """Each case comments on an issue of its own."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, github.comment_contract(), dialect=Comments())
        self.environ: Mapping[str, str] = {"GITHUB_URL": self.url, "GITHUB_TOKEN": PLANTED}
        self._issue = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """Its issue."""
        self.disarm()
        self._issue += 1
        return {
            "number": number,
            "repository": REPOSITORY,
            "issue": self._issue,
            "body": "It is there:\nhttps://a.example",
        }

    def records(self, payload: Mapping[str, Any]) -> int:
        """The comments on its issue."""
        place = f"/repos/{payload['repository']}/issues/{payload['issue']}/comments"
        return sum(1 for each in self.store if each.path == place)


class Pulls(SandboxServed):
    """Each case merges a pull request of its own."""

    def __init__(self, folder: Path) -> None:
        kept = {"client_id": True, "replay": "conflicts", "other_body": "replays"}
        super().__init__(folder, github.merge_contract(), dialect=Merges(), kept=kept)
        self.environ: Mapping[str, str] = {"GITHUB_URL": self.url, "GITHUB_TOKEN": PLANTED}
        self._pull = 0

    def prepare(self, number: str) -> dict[str, Any]:
        """Its pull request."""
        self.disarm()
        self._pull += 1
        return {"number": number, "repository": REPOSITORY, "pull": self._pull, "head": HEAD, "title": "Take it in"}

    def records(self, payload: Mapping[str, Any]) -> int:
        """Its merges."""
        place = f"/repos/{payload['repository']}/pulls/{payload['pull']}"
        return sum(1 for each in self.store if each.path == place)


def _comment(shown: Mapping[str, object]) -> dict[str, object]:
    return {"id": shown.get("id"), "body": shown.get("body"), "html_url": f"https://github.example/{shown.get('id')}"}


DRILLS = [
    Drill(
        connector="github.comment",
        entries=[github.COMMENT],
        app=app,
        workflow=say,
        server="the sandbox, speaking as GitHub",
        server_kind="sandbox",
        start=Issues,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost, attempts=1),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance, attempts=1),
            Case("late-arrival", "succeeded", late_arrival, attempts=1),
            Case("late-lookup", "succeeded", late_lookup, attempts=1),
        ],
    ),
    Drill(
        connector="github.merge",
        entries=[github.MERGE],
        app=app,
        workflow=take_in,
        server="the sandbox, speaking as GitHub",
        server_kind="sandbox",
        start=Pulls,
        cases=[
            Case("as-usual", "succeeded", as_usual, attempts=1),
            Case("reply-lost", "succeeded", reply_lost),
            Case("killed-after-acceptance", "succeeded", killed_after_acceptance),
        ],
    ),
]
