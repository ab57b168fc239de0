"""Linear: an issue under an id that we choose. The id is our key, and the issue itself is found by it.

    app.receiver("linear", url="https://api.linear.app", credential=Bearer(Env("LINEAR_TOKEN")), environment="live")
    create = linear.create(app, receiver="linear", owner="support")

What a second request with the same id does is not written anywhere, so in doubt the issue is looked for, never sent again.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import NO_WINDOW, Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen, When
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "linear_issue_create"
PLACE = "/graphql"
SHOWN = "id identifier url title team { id }"
CREATE = (
    f"mutation Create($input: IssueCreateInput!) {{ issueCreate(input: $input) {{ success issue {{ {SHOWN} }} }} }}"
)
FIND = (
    f"query Find($id: ID!) {{ issues(filter: {{id: {{eq: $id}}}}, includeArchived: true) {{ nodes {{ {SHOWN} }} }} }}"
)
# `data` alone is no success: Linear says `success: false` in it.
ANSWERS = [
    When(status={200, 400}, body={"errors": ...}).means("ambiguous"),
    When(status=200, body={"data.issueCreate.success": True}).means("applied"),
]


class Issue(BaseModel):
    """`number`: yours. `team`: its id. `text`: Markdown."""

    number: str
    team: Annotated[str, Target()]
    title: Annotated[str, Field(min_length=1, max_length=255)]
    text: str = ""


class IssueReceipt(Receipt):
    """`reference`: the issue's id, which is our key. `identifier`: such as ENG-12, as it was then."""

    identifier: str | None = None
    url: str | None = None


def create(
    app: Declares,
    *,
    receiver: str = "linear",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Issue, IssueReceipt]:
    """`issueCreate`. `overrides`: what your workspace knows better than the catalogue, by attribute."""
    return declared(app, linear_create, create_contract(overrides), receiver, **governed)


def create_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `create`: an error inside a 200 is no success, and a repeat is never made for the id alone."""
    known = {**NO_WINDOW, "classifier": ANSWERS, "lookup.finds_by": "key", **(overrides or {})}
    return contract_of(ENTRY, action="issueCreate", find=find_issue, overrides=known)


async def linear_create(call: Call, issue: Issue) -> IssueReceipt:
    """One issue; the contract puts our key where its id is chosen."""
    given = {"teamId": issue.team, "title": issue.title, **({"description": issue.text} if issue.text else {})}
    reply = await call.http.post(PLACE, json={"query": CREATE, "variables": {"input": given}})
    return _receipt(reply.json()["data"]["issueCreate"]["issue"])


async def find_issue(ask: Ask, issue: Issue) -> Seen[IssueReceipt]:
    """The issue of this id, archived or not; team and title are compared. Linear may rewrite the text, so it is not."""
    said = (await ask.http.query(PLACE, FIND, {"id": ask.key})).json()
    if said.get("errors"):
        raise LookupError(f"Linear answered {said['errors'][0].get('message')}")  # nobody could be asked: not absence
    found = [
        Found(_receipt(each), payload=issue.model_copy(update={"title": each["title"], "team": each["team"]["id"]}))
        for each in said["data"]["issues"]["nodes"]
    ]
    return Seen(found, complete=True)


def _receipt(shown: Mapping[str, Any]) -> IssueReceipt:
    return IssueReceipt(reference=shown["id"], identifier=shown.get("identifier"), url=shown.get("url"))
