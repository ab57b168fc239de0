"""GitHub: a comment on an issue or a pull request, and a merge. GitHub takes no key: our id is a marker that a lookup finds.

app.receiver("github", url="https://api.github.com", credential=Bearer(Env("GITHUB_TOKEN")), environment="live")
comment = github.comment(app, receiver="github", owner="platform")
merge = github.merge(app, receiver="github", owner="platform")
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

COMMENT, MERGE = "github_issue_comment", "github_merge_pr"
ACCEPT = {"Accept": "application/vnd.github+json"}
PAGE = 100
CLOCKS = timedelta(hours=1)  # by so much the two sides' clocks may differ
REPOSITORY = r"^[A-Za-z0-9-]+/[A-Za-z0-9._-]+$"
TRAILER = "Counterfoil-Operation: "


class Comment(BaseModel):
    """`number`: yours. `repository`: owner/name. `issue`: of an issue or a pull request. `body`: Markdown."""

    number: str
    repository: Annotated[str, Target(), Field(pattern=REPOSITORY)]
    issue: int
    body: str


class CommentReceipt(Receipt):
    """`reference`: the comment's id."""

    url: str | None = None


class Merge(BaseModel):
    """`number`: yours. `head`: the commit that was looked at: GitHub merges no other one."""

    number: str
    repository: Annotated[str, Target(), Field(pattern=REPOSITORY)]
    pull: int
    head: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    title: str
    message: str = ""
    method: Literal["merge", "squash"] = "merge"


def comment(
    app: Declares,
    *,
    receiver: str = "github",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Comment, CommentReceipt]:
    """`POST /repos/{owner}/{repo}/issues/{n}/comments`. `overrides`: what you know better than the catalogue, by attribute."""
    return declared(app, github_comment, comment_contract(overrides), receiver, **governed)


def merge(
    app: Declares,
    *,
    receiver: str = "github",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Merge, Receipt]:
    """`PUT /repos/{owner}/{repo}/pulls/{n}/merge`. `overrides`: what you know better than the catalogue, by attribute."""
    return declared(app, github_merge, merge_contract(overrides), receiver, **governed)


def comment_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `comment`."""
    return contract_of(
        COMMENT, action="POST /repos/{o}/{r}/issues/{n}/comments", find=find_comment, overrides=overrides
    )


def merge_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `merge`."""
    return contract_of(MERGE, action="PUT /repos/{o}/{r}/pulls/{n}/merge", find=find_merge, overrides=overrides)


def marker(operation_id: str) -> str:
    """What nobody sees on the page, and a lookup finds."""
    return f"<!-- counterfoil:{operation_id} -->"


async def github_comment(call: Call, comment: Comment) -> CommentReceipt:
    """One comment that ends with our marker."""
    body = f"{comment.body}\n\n{marker(call.operation_id)}"
    made = (await call.http.post(_comments(comment), json={"body": body}, headers=ACCEPT)).json()
    return _receipt(made)


async def find_comment(ask: Ask, comment: Comment) -> Seen[CommentReceipt]:
    """Every comment since the first attempt that ends with our marker: all pages of the list, never the search."""
    ends = f"\n\n{marker(ask.operation_id)}"
    since = (ask.first_sent_at - CLOCKS).strftime("%Y-%m-%dT%H:%M:%SZ")
    found: list[Found[CommentReceipt]] = []
    page = 0
    while True:
        page += 1
        params = {"since": since, "per_page": PAGE, "page": page}
        items: list[dict[str, Any]] = (await ask.http.get(_comments(comment), params=params, headers=ACCEPT)).json()
        for item in items:
            text = str(item["body"]).replace("\r\n", "\n").rstrip()
            if text.endswith(ends):
                held = comment.model_copy(update={"body": text.removesuffix(ends)})
                found.append(Found(_receipt(item), payload=held))
        if len(items) < PAGE:
            return Seen(found, complete=True)


async def github_merge(call: Call, merge: Merge) -> Receipt:
    """One merge of the head that was looked at; our id is a trailer of the commit's message."""
    asked = {
        "sha": merge.head,
        "merge_method": merge.method,
        "commit_title": merge.title,
        "commit_message": f"{merge.message}\n\n{TRAILER}{call.operation_id}".lstrip(),
    }
    made = (await call.http.put(f"{_pull(merge)}/merge", json=asked, headers=ACCEPT)).json()
    return Receipt(reference=made["sha"])


async def find_merge(ask: Ask, merge: Merge) -> Seen[Receipt]:
    """The merge, if the pull request is merged. Somebody else's has other words than ours, so it is shown as other content."""
    pull = (await ask.http.get(_pull(merge), headers=ACCEPT)).json()
    if not pull["merged"]:
        return Seen([], complete=True)
    made = pull["merge_commit_sha"]
    commit = (await ask.http.get(f"/repos/{merge.repository}/commits/{made}", headers=ACCEPT)).json()
    said = str(commit["commit"]["message"])
    ours = said.rstrip().endswith(f"{TRAILER}{ask.operation_id}")
    held = merge if ours else merge.model_copy(update={"title": said.partition("\n")[0], "message": said})
    return Seen([Found(Receipt(reference=made), payload=held)], complete=True)


def _receipt(made: Mapping[str, Any]) -> CommentReceipt:
    return CommentReceipt(reference=str(made["id"]), url=made.get("html_url"))


def _comments(comment: Comment) -> str:
    return f"/repos/{comment.repository}/issues/{comment.issue}/comments"


def _pull(merge: Merge) -> str:
    return f"/repos/{merge.repository}/pulls/{merge.pull}"
