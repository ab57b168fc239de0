"""Jira Cloud: an issue is created. Jira takes no key: our id is a label, and a search finds it, some time later.

app.receiver("jira", url=Env("JIRA_URL"), credential=Bearer(Env("JIRA_TOKEN")), environment="live")
create = jira.create(app, receiver="jira", owner="support")
"""

from collections.abc import Mapping
from typing import Annotated, Any, Unpack

from pydantic import BaseModel, Field

from counterfoil.connectors.connector import Declares, Governed, contract_of, declared
from counterfoil.engine.definitions import Operation
from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Contract, Found, Seen
from counterfoil.model.money import Target
from counterfoil.model.receipt import Receipt

ENTRY = "jira_issue"
PLACE = "/rest/api/3"


class Issue(BaseModel):
    """`number`: yours. `project`: its key. `type`: the issue type's name. `text`: plain, a paragraph for each line."""

    number: str
    project: Annotated[str, Target(), Field(pattern=r"^[A-Z][A-Z0-9_]+$")]
    type: str
    summary: Annotated[str, Field(pattern=r"^[^\r\n]+$", max_length=255)]
    text: str = ""


def create(
    app: Declares,
    *,
    receiver: str = "jira",
    overrides: Mapping[str, Any] | None = None,
    **governed: Unpack[Governed],
) -> Operation[Issue, Receipt]:
    """`POST /rest/api/3/issue`. `overrides`: what your site knows better than the catalogue, by attribute."""
    return declared(app, jira_create, create_contract(overrides), receiver, **governed)


def create_contract(overrides: Mapping[str, Any] | None = None) -> Contract:
    """The contract of `create`. Its search lags, so "not found" allows nothing: a person is asked, and it is asked again."""
    return contract_of(ENTRY, action="POST /rest/api/3/issue", find=find_issue, overrides=overrides)


def label(operation_id: str) -> str:
    """Our mark."""
    return f"counterfoil-{operation_id}"


async def jira_create(call: Call, issue: Issue) -> Receipt:
    """One issue, with our label."""
    fields: dict[str, Any] = {
        "project": {"key": issue.project},
        "issuetype": {"name": issue.type},
        "summary": issue.summary,
        "labels": [label(call.operation_id)],
    }
    if issue.text:
        lines = [{"type": "paragraph", "content": _words(line)} for line in issue.text.splitlines()]
        fields["description"] = {"type": "doc", "version": 1, "content": lines}
    made = (await call.http.post(f"{PLACE}/issue", json={"fields": fields})).json()
    return Receipt(reference=made["key"])


async def find_issue(ask: Ask, issue: Issue) -> Seen[Receipt]:
    """Every issue with our label; project, type and summary are compared."""
    params = {"jql": f'labels = "{label(ask.operation_id)}"', "fields": "project,issuetype,summary"}
    found: list[Found[Receipt]] = []
    after: dict[str, str] = {}
    while True:
        page = (await ask.http.get(f"{PLACE}/search/jql", params={**params, **after})).json()
        for shown in page["issues"]:
            fields = shown["fields"]
            held = {
                "project": fields["project"]["key"],
                "type": fields["issuetype"]["name"],
                "summary": fields["summary"],
            }
            found.append(Found(Receipt(reference=shown["key"]), payload=issue.model_copy(update=held)))
        if not page.get("nextPageToken"):
            return Seen(found, complete=True)
        after = {"nextPageToken": page["nextPageToken"]}


def _words(line: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": line}] if line else []
