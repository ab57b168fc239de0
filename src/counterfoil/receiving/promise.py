"""What a service promises for one action. Its contract is written from this, and `Receiving` does nothing else."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Literal

_NEVER_KEPT = frozenset({"authorization", "proxy-authorization", "cookie", "set-cookie", "www-authenticate"})
_LONGEST_OF_OURS = 36  # a key of Counterfoil's has at most so many characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """The guarantees of one action. Raises ValueError where they contradict themselves.

    `window`: how long an answer is repeated, from when the request was first accepted. After it the key is still known and
    is answered 410: it never acts again. `counts`: what of a body makes it the same request: its JSON content, however it is
    written, or its exact bytes. Method, path and query always count; headers never do. `mismatch`: the status for the same
    key with other parameters. `errors`: a 5xx leaves no trace and a repeat acts ("rolled_back"), or is kept under the key
    and repeated ("kept"); its change is undone in both. `headers`: those that are kept with an answer and repeated.
    `retry_after`: what a client is told where a first request is still at work. `lookups`: where keys are looked up.
    """

    action: str
    api_version: str
    window: timedelta
    duplicate: Literal["benign", "costly", "irreversible"] = "irreversible"
    header: str = "Idempotency-Key"
    counts: Literal["json", "bytes"] = "json"
    mismatch: Literal[409, 422] = 422
    errors: Literal["rolled_back", "kept"] = "rolled_back"
    headers: Sequence[str] = ("content-type", "location")
    longest_key: int = 255
    largest_answer: int = 1_048_576
    retry_after: timedelta = timedelta(seconds=1)
    lookups: str = "/idempotency-keys"

    def __post_init__(self) -> None:
        object.__setattr__(self, "headers", tuple(name.lower() for name in self.headers))
        problems = [
            (not self.action.strip() or not self.api_version.strip(), "action and api_version must not be empty"),
            (self.window < timedelta(seconds=1), f"window is {self.window}; a second is the shortest"),
            (self.retry_after < timedelta(seconds=1), f"retry_after is {self.retry_after}; a second is the shortest"),
            (
                not _LONGEST_OF_OURS <= self.longest_key <= 255,
                f"longest_key is {self.longest_key}; between {_LONGEST_OF_OURS} and 255 fits every client's key",
            ),
            (bool(kept := sorted(_NEVER_KEPT & set(self.headers))), f"{', '.join(kept)} may hold a secret: never kept"),
        ]
        for wrong, problem in problems:
            if wrong:
                raise ValueError(problem)
