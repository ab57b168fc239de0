"""Deploy a preview of a pull request under an address of our own, and say so on the pull request, once.

`PREVIEWS_URL` says where previews are made; `GITHUB_URL` and `GITHUB_TOKEN` where the pull request is and who comments.
"""

from datetime import timedelta
from typing import Annotated

from pydantic import BaseModel, Field

from counterfoil import (
    App,
    Ask,
    Bearer,
    Budget,
    Call,
    Contract,
    Env,
    Found,
    IdempotencyKey,
    Lookup,
    Operation,
    Receipt,
    Run,
    Seen,
    Target,
    When,
)
from counterfoil.connectors import github
from counterfoil.model.ids import KeyFormat

BUDGET = Budget(attempts=9, elapsed=timedelta(days=2), spend_usd=1, owner="platform")
# What this team knows of its own GitHub better than the catalogue: a list shows a comment at once, and nothing is on its
# way for longer than five minutes. So "not there" allows another try, and all rests on the marker.
OURS = {
    "lookup.consistency": "strong",
    "lookup.visible_within": timedelta(minutes=1),
    "lookup.arrives_within": timedelta(minutes=5),
}


class Pushed(BaseModel):
    """What a push says: trusted input, from which both business keys are made."""

    repository: Annotated[str, Field(pattern=github.REPOSITORY)]
    pull: int
    commit: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]

    @property
    def number(self) -> str:
        """One preview and one comment for a commit of a pull request."""
        return f"{self.repository}#{self.pull}@{self.commit}"


class Preview(BaseModel):
    """What is deployed. Its address is the operation's key, so it is not part of what is asked."""

    number: str
    repository: Annotated[str, Target()]
    commit: str


class Deployed(Receipt):
    """`reference`: the name under which the preview is reached."""


async def find_preview(ask: Ask, preview: Preview) -> Seen[Deployed]:
    """The preview at the one address that this operation can have made."""
    reply = await ask.http.get(f"/previews/{ask.key}")
    if reply.status == 404:
        return Seen([], complete=True)
    shown = reply.json()
    held = preview.model_copy(update={"repository": shown["repository"], "commit": shown["commit"]})
    return Seen([Found(Deployed(reference=str(ask.key)), payload=held)], complete=True)


PREVIEWS = Contract(
    api_version="1",
    duplicate="costly",
    # The address is a name in DNS, so the key has its alphabet. Whoever puts the same again finds what is there.
    key=IdempotencyKey(path="{key}", format=KeyFormat.BASE32HEX, retention=timedelta.max, other_body="rejects"),
    precondition="create_if_absent",
    classifier=[When(status="2xx").means("applied"), When(status=400).means("refused")],
    lookup=Lookup(find_preview, consistency="strong", visible_within=timedelta(0), finds_by="key"),
)


async def create_preview(call: Call, preview: Preview) -> Deployed:
    """One request to the address that the operation's key names."""
    await call.http.put("/previews/{key}", json=preview.model_dump(exclude={"number"}))
    return Deployed(reference=str(call.key))


def previewing(app: App) -> Operation[Preview, Deployed]:
    """Declare both receivers, and register the first of the two writes."""
    app.receiver("previews", url=Env("PREVIEWS_URL"), environment="test")
    app.receiver(
        "github",
        url=Env("GITHUB_URL", "https://api.github.com"),
        credential=Bearer(Env("GITHUB_TOKEN")),
        environment="test",
    )
    return app.operation(receiver="previews", contract=PREVIEWS, business_key="number", owner="platform")(
        create_preview
    )


def said(pushed: Pushed, made: Deployed) -> github.Comment:
    """The comment on the pull request."""
    body = f"Preview of {pushed.commit[:7]}: https://{made.reference}.preview.example"
    return github.Comment(number=pushed.number, repository=pushed.repository, issue=pushed.pull, body=body)


app = App("deploy-preview")
preview = previewing(app)
comment = github.comment(app, receiver="github", owner="platform", overrides=OURS)


@app.workflow(version=1, budget=BUDGET)
async def deploy(run: Run, pushed: Pushed) -> github.CommentReceipt:
    """A preview, and then the comment that names it."""
    asked = Preview(number=pushed.number, repository=pushed.repository, commit=pushed.commit)
    made = await run.perform(preview, asked)
    return await run.perform(comment, said(pushed, made))
