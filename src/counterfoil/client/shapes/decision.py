"""What models answered, and what that used and cost."""

from typing import Any, Literal

from counterfoil.client.shapes.base import WITHHELD, Shape


class Decision(Shape):
    """One accepted answer of a model, with what people and receivers made of it; `decision_id` is a run and an entry: run-3/7."""

    decision_id: str
    run_id: str
    run_number: int
    sequence: int
    position: str
    agent: str
    kind: Literal["workflow", "turn", "compaction"]
    conversation: str | None
    versions: dict[str, Any] | None
    revises: str | None
    reason: str | None
    asked_at: str | None
    decided_at: str
    usage: dict[str, Any] | None
    cost_micros: int | None
    lost: int
    verdict: Literal["corrected", "rejected", "expired", "open", "approved", "none"] | None
    verdicts: list[dict[str, Any]] | None
    operations: list[dict[str, Any]]
    withheld: list[str] = WITHHELD


class DecisionShown(Decision):
    """A decision with what was asked and what was answered."""

    input: Any
    output: Any


class Decisions(Shape):
    """The newest decisions that fit. `more`: there are others that fit."""

    items: list[Decision]
    more: bool


class Used(Shape):
    """What was used under one key. `unmeasured` calls came to nothing that was measured; `unpriced` ones have no known price."""

    key: str | None
    asked: int
    decisions: int
    failed: int
    lost: int
    open: int
    requests: int
    input_tokens: int
    output_tokens: int
    unmeasured: int
    cost_micros: int | None
    unpriced: int


class Usage(Shape):
    """Sums by model, agent, workflow, conversation, day or tool, and their total."""

    by: str
    items: list[Used]
    total: Used
