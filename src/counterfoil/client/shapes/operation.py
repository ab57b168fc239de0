"""An operation: one intended write to a receiver, its attempts and receipts."""

from typing import Literal

from pydantic import Field

from counterfoil.client.shapes.base import WITHHELD, Money, Next, Shape
from counterfoil.client.shapes.review import Approval

OperationStatus = Literal["prepared", "in_flight", "succeeded", "failed", "unknown"]


class AttemptAnswer(Shape):
    """What came back. `class` is its meaning by the contract."""

    status: int | None
    class_: str | None = Field(alias="class")


class Attempt(Shape):
    """One try to send, by one worker under one fence, with a deadline."""

    attempt_id: str
    n: int
    worker_id: str
    fence: int
    started_at: str
    deadline_at: str
    ended_at: str | None
    sent: Literal["no", "maybe"]
    reached: str | None = Field(
        description="How far it got: nothing, connected, request, headers, body; null: not known."
    )
    answer: AttemptAnswer | None
    late: bool


class Receipt(Shape):
    """Evidence from the receiver."""

    receipt_id: str
    operation_id: str
    how: Literal["reply", "lookup", "webhook", "statement", "person"]
    reference: str | None
    proves: Literal["first_result", "current_state", "existence"]
    body_digest: str | None
    received_at: str


class Case(Shape):
    """The case of the recovery table that ruled last."""

    letter: str | None
    sentence: str | None


class ContractInForce(Shape):
    """What the receiver guarantees for it."""

    digest: str
    kind: str | None
    window_ends_at: str | None
    lookup: str | None
    procedure: str | None = Field(None, description="What a person does in doubt, as the contract says it.")


class Operation(Shape):
    """One intended write, with everything that is known about it."""

    operation_id: str
    number: int
    version: int = Field(description="A resolution names the version it has seen.")
    run_id: str
    operation: str
    receiver: str
    environment: str
    action: str
    api_version: str
    business_key: str | None
    generation: int
    occurrence: int
    key_number: int
    proposal_version: int
    payload_digest: str
    idempotency_key: str | None
    status: OperationStatus
    sentence: str
    reason: str | None
    reused: bool
    reused_from: str | None
    sent: Literal["no", "maybe"]
    first_sent_at: str | None
    prepared_at: str
    closed_at: str | None
    case: Case
    contract: ContractInForce
    attempts: list[Attempt]
    receipts: list[Receipt] | None = Field(description="Null: you may not read receipts.")
    approval: Approval | None
    owner: str | None
    next_action: Next
    target: str | None = Field(None, description="What the payload marks as its target.")
    amount: Money | None = Field(None, description="What the payload marks as its amount.")
    withheld: list[str] = WITHHELD
