"""What receivers sent by themselves."""

from typing import Any, Literal

from counterfoil.client.shapes.base import WITHHELD, Next, Shape


class Delivery(Shape):
    """A signed message of a receiver. `body` is null in lists. `later`: it did not close its operation."""

    delivery_id: str
    number: int
    receiver: str
    own_id: str
    type: str | None
    state: Literal["stored", "matched", "orphan", "other"]
    body: dict[str, Any] | None
    body_digest: str
    received_at: str
    seen: int
    tries: int
    next_at: str | None
    operation_id: str | None
    run_id: str | None
    receipt_id: str | None
    later: bool
    closed_at: str | None
    closed_by: str | None
    reason: str | None
    next_action: Next
    withheld: list[str] = WITHHELD
