"""What a lookup says about a key."""

import json
from dataclasses import dataclass
from typing import Any, Literal

from counterfoil.receiving.answer import Answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """`answered`: its answer is kept. `over`: it was answered; the answer is gone. `refused`: it can never act any more.

    `in_progress`: a request under it is at work now. `absent`: nobody has used it, and a late request still may; only
    `refused` is a statement about absence that holds. Times are microseconds since 1970.
    """

    state: Literal["answered", "over", "refused", "in_progress", "absent"]
    status: int | None = None
    reference: str | None = None
    answer: Answer | None = None
    accepted_at: int | None = None
    kept_until: int | None = None

    @property
    def holds(self) -> bool:
        """Whether this will be true for ever (but for `answered`, which becomes `over`)."""
        return self.state in ("answered", "over", "refused")

    def content(self) -> dict[str, Any]:
        """As JSON. The kept answer is shown where it is JSON itself."""
        try:
            shown = None if self.answer is None else json.loads(self.answer.body)
        except ValueError:
            shown = None
        return {
            "state": self.state,
            "holds": self.holds,
            "status": self.status,
            "reference": self.reference,
            "answer": shown,
            "accepted_at": self.accepted_at,
            "kept_until": self.kept_until,
        }
