"""What is sent to the API. A field that is not known is refused: a misspelt one would be an answer nobody gave."""

from typing import Annotated, Any

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


class Cancelling(Body):
    """Why nothing more is wanted."""

    reason: Text = ""


class Resuming(Body):
    """New limits where a budget is spent: `attempts` a count, `elapsed` seconds, `spend` decimal USD."""

    raises: dict[str, Annotated[str, Field(max_length=20)] | int] = Field(default_factory=lambda: {}, max_length=3)


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
