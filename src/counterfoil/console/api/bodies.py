"""What is sent to the API. A field that is not known is refused: a misspelt one would be an answer nobody gave."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=10_000)]
Reason = Annotated[str, Field(min_length=1, max_length=10_000, description="Why; it is recorded.")]
Digest = Annotated[str, Field(pattern="^sha256:[0-9a-f]{64}$", description="Of what you have seen.")]


class Body(BaseModel):
    """Refuses what it does not know."""

    model_config = ConfigDict(extra="forbid")


class Submission(Body):
    """A run to submit. The same request id with the same content finds the run, for ever."""

    workflow: Name
    input: Any
    request_id: Annotated[str, Field(min_length=1, max_length=500)]


class Message(Body):
    """A message to an agent. A new name begins a conversation, and names its agent."""

    text: Annotated[str, Field(max_length=200_000)]
    conversation: Annotated[str, Field(min_length=1, max_length=500, description="Its name, its id or its number.")]
    request_id: Annotated[str, Field(min_length=1, max_length=500)]
    agent: Name | None = None
    when_busy: Annotated[
        Literal["reject", "follow_up", "steer"] | None,
        Field(description="While a turn is at work; else as the conversation's setting says, else reject."),
    ] = None


class Revising(Body):
    """What is wrong with the newest answer."""

    reason: Text


class Aborting(Body):
    """Why the turn at work is cancelled. `queued`: what waits for it is withdrawn, too."""

    reason: Text = ""
    queued: bool = False


class Cancelling(Body):
    """Why nothing more is wanted."""

    reason: Text = ""


class Resuming(Body):
    """New limits where a budget is spent: `attempts`, `tokens`, `calls:NAME` counts, `elapsed` seconds, `spend` decimal USD;
    and why."""

    raises: dict[str, Annotated[str, Field(max_length=20)] | int] = Field(default_factory=lambda: {}, max_length=20)
    reason: Text = ""


class Signal(Body):
    """Something from outside. The same signal id twice is one signal."""

    name: Name
    payload: Any
    signal_id: Annotated[str, Field(min_length=1, max_length=500)]


class Approving(Body):
    """An approval of exactly this digest."""

    digest: Digest
    comment: Text = ""


class Rejecting(Body):
    """A rejection. With `ask_revision` the operation stays prepared for its next version."""

    digest: Digest
    comment: Text = ""
    ask_revision: bool = False


class Withdrawing(Body):
    """An approval is taken back, before the first attempt."""

    comment: Text = ""
    ask_revision: bool = False


class Resolving(Body):
    """A person's word about a doubt, with its evidence and the version that was seen."""

    as_: Annotated[str, Field(alias="as", pattern="^(succeeded|failed|send-again)$")]
    expect_version: Annotated[int, Field(ge=0, le=2**53)]
    reason: Reason
    evidence: Annotated[str, Field(min_length=1, max_length=14_000_000, description="The evidence itself, in base64.")]
    evidence_name: Name = "evidence"
    reference: Annotated[str, Field(max_length=1000, description="The receiver's, for `succeeded`.")] | None = None
    new_key: Annotated[bool, Field(description="With `send-again`: a new key; the old ones stay under watch.")] = False


class Reasoned(Body):
    """An act that names its reason."""

    reason: Reason


class Stopping(Body):
    """Where sending stops or goes on: exactly one of a receiver, an operation, or all."""

    reason: Reason
    receiver: Name | None = None
    operation: Name | None = None
    all: bool = False


class Waiving(Body):
    """Which operation may be sent without a drill, why, and until when: a day, RFC 3339, or from now (`4h`, `30d`)."""

    operation: Name
    reason: Reason
    until: Annotated[str, Field(min_length=1, max_length=40)]


class Revoking(Body):
    """Whose waiver is taken back, and why."""

    operation: Name
    reason: Reason


class HandingOver(Body):
    """To a person or a role."""

    to: Name


class Commenting(Body):
    """Something to say."""

    text: Annotated[str, Field(min_length=1, max_length=10_000)]


class Snoozing(Body):
    """Put off until a time, RFC 3339 or from now (`30m`, `4h`, `1d`), before its deadline."""

    until: Annotated[str, Field(min_length=1, max_length=40)]
    reason: Reason


class LettingGo(Body):
    """Nobody works on it any more; with `snooze`: it is no longer put off."""

    snooze: bool = False


Selector = Annotated[str, Field(max_length=200)] | None


class InboxWanted(Body):
    """Which things of the inbox; null means any. `mine`: what the signed-in person has taken, or may take."""

    owner: Selector = None
    workflow: Selector = None
    receiver: Selector = None
    reason: Selector = None
    text: Selector = None
    mine: bool = False
    snoozed: bool = False


BulkAct = Literal["lookup", "resume", "cancel", "hand-over"]


class Previewing(Body):
    """An act by filter, to be looked at first."""

    act: BulkAct
    wanted: InboxWanted = InboxWanted()


class CarryingOut(Previewing):
    """An act by filter. `count` and `digest` are those of the preview."""

    count: Annotated[int, Field(ge=0, le=2**31)]
    digest: Digest
    reason: Text = ""
    to: Name | None = None


class NewPerson(Body):
    """A person to add; the secret is stored only as a hash."""

    name: Name
    roles: Annotated[list[Name], Field(max_length=100)] = Field(default_factory=lambda: [])
    secret: Annotated[str, Field(min_length=12, max_length=1000)]
    stand_in_for: Name | None = None


class Granting(Body):
    """One right of a role. `up_to_minor` in the currency's smallest unit bounds what is answered or resolved."""

    role: Name
    verb: Name
    workflow: Name | None = None
    operation: Name | None = None
    kind: Name | None = None
    up_to_minor: Annotated[int, Field(ge=0, le=2**53)] | None = None
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None


Names = Annotated[list[Name], Field(max_length=100)]


class TokenWanted(Body):
    """A personal token. It may what its person may, inside its scope; null means any."""

    name: Name
    days: Annotated[int, Field(ge=1, le=366)]
    person: Name | None = None
    verbs: Names | None = None
    workflows: Names | None = None
    operations: Names | None = None


class Importing(Body):
    """A provider's statement, CSV or JSON lines in base64. `columns`: our name, then the file's."""

    receiver: Name
    name: Name
    content: Annotated[str, Field(min_length=1, max_length=14_000_000, description="The file itself, in base64.")]
    columns: Annotated[
        dict[Literal["reference", "amount", "currency", "at"], Annotated[str, Field(max_length=200)]],
        Field(max_length=4),
    ] = Field(default_factory=lambda: {})
    minor: Annotated[bool, Field(description="Amounts are in the smallest unit.")] = False
    negative: Annotated[bool, Field(description="What we sent stands there with a minus.")] = False
    currency: Annotated[str, Field(pattern="^[A-Z]{3}$")] | None = None
    hours: Annotated[int, Field(ge=1, le=9999, description="How long after a first send a line may be it.")] = 24
    dry_run: bool = False
