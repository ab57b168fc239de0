"""An answer of a service: what is kept under a key, and repeated."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

MARK = "receiving-answer"  # the header by which every answer of the kit says what it is
FIRST = "first"  # the change and this answer are committed
REPLAYED = "replayed"  # kept under the key; nothing was done now
MISMATCH = "mismatch"  # the key belongs to other parameters; nothing was done now
IN_PROGRESS = "in_progress"  # an earlier request under the key is at work; nothing was done now
OVER = "over"  # the window is over: the answer is gone, the key is not; nothing was done now
NOT_EXECUTED = "not_executed"  # rolled back, or never begun: this request has had no effect
BAD_KEY = "bad_key"  # no key, several, too long or with other characters; nothing was done
UNKNOWN = "unknown"  # the COMMIT was not answered: repeat it under the same key, or look the key up


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """`status` 2xx: the change is kept. 4xx: it is undone, and the answer is kept. 5xx: it is undone; see `Promise.errors`.

    `reference`: the receiver's own id of what came into being; it outlives the window. Raises ValueError for 1xx and 3xx.
    """

    status: int
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    reference: str | None = None

    def __post_init__(self) -> None:
        if not (200 <= self.status < 300 or 400 <= self.status < 600):
            raise ValueError(f"an answer is 2xx, 4xx or 5xx, not {self.status}")
        object.__setattr__(self, "headers", {name.lower(): value for name, value in self.headers.items()})

    @classmethod
    def json(
        cls, status: int, content: Any, *, reference: str | None = None, headers: Mapping[str, str] | None = None
    ) -> "Answer":
        """An answer of JSON. Raises TypeError or ValueError for what is none."""
        body = json.dumps(content, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()
        named = {"content-type": "application/json", **(headers or {})}
        return cls(status=status, body=body, headers=named, reference=reference)

    def marked(self, mark: str, **more: str) -> "Answer":
        """The same, saying what it is; and other headers."""
        return replace(self, headers={**self.headers, MARK: mark, **more})


def told(status: int, mark: str, sentence: str, *, retry_after: int | None = None, **more: Any) -> Answer:
    """An answer of the kit's own: `{"state", "detail", ...}`."""
    waits = {} if retry_after is None else {"retry-after": str(retry_after)}
    return Answer.json(status, {"state": mark, "detail": sentence, **more}, headers=waits).marked(mark)
