"""The contract that the sandbox keeps: what a second request does, and what a lookup shows."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Literal, cast, get_args

OtherBody = Literal["rejects", "replays", "part_of_identity", "overwrites"]
InProgress = Literal["conflict", "waits", "refuses"]
Replay = Literal["stored", "current", "acknowledges", "conflicts"]
Consistency = Literal["strong", "eventual"]
WindowFrom = Literal["accept", "completion"]

_CHOICES: Mapping[str, frozenset[object]] = {
    "other_body": frozenset(get_args(OtherBody)),
    "in_progress": frozenset(get_args(InProgress)),
    "replay": frozenset(get_args(Replay)),
    "lookup_consistency": frozenset(get_args(Consistency)),
    "window_from": frozenset(get_args(WindowFrom)),
}
_SUBSETS: Mapping[str, frozenset[object]] = {
    "saves": frozenset({"2xx", "4xx", "5xx"}),
    "key_scope": frozenset({"credential", "endpoint"}),
    "lookup_by": frozenset({"reference", "key"}),
}
_SWITCHES = frozenset({"resumes", "content_key", "refuses_late", "replay_marker", "lookup", "client_id", "two_step"})
_SECONDS = frozenset({"key_window_seconds", "lock_timeout_seconds", "lookup_lag_seconds", "late_arrival_seconds"})
_NO_LIMIT = frozenset({"key_window_seconds", "lock_timeout_seconds"})
_STATUSES = frozenset({"mismatch_status", "in_progress_status"})
_TEXTS = frozenset({"key_header", "key_body", "key_query", "unique_field"})


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxContract:
    """How one sandbox behaves. ValueError when a field has a value that is not among those named here."""

    kind: str = "custom"
    """A name for people; nothing depends on it."""
    key_header: str | None = "Idempotency-Key"
    """The header with the key; None: no key is honoured."""
    key_body: str | None = None
    """The dotted path in the body with the key, where no header has it."""
    key_query: str | None = None
    """The query parameter with the key, where neither has it."""
    content_key: bool = False
    """The body is the key: an equal one is taken for a repeat."""
    key_window_seconds: float | None = 86_400.0
    """How long a key is remembered; None: for ever."""
    window_from: WindowFrom = "accept"
    """What starts that time: the first accept, or the end of the first request."""
    refuses_late: bool = False
    """A key that is older than its window is answered with 412, and nothing is done."""
    key_scope: frozenset[str] = frozenset({"endpoint"})
    """What narrows a key: `credential`, `endpoint` (method and path)."""
    saves: frozenset[str] = frozenset({"2xx", "4xx", "5xx"})
    """Which classes of answers are kept under the key. A kept 5xx poisons it."""
    other_body: OtherBody = "rejects"
    """A known key, or object, with another body: rejected, first answer given silently, another identity, overwritten."""
    mismatch_status: int = 422
    replay: Replay = "stored"
    """What a repeat answers: the stored answer, today's object, a bare acknowledgement, or 409 as "it exists"."""
    replay_marker: bool = True
    """Whether a repeat's answer carries `idempotent-replayed: true`."""
    resumes: bool = False
    """A repeat after an answer that is not kept completes the first work instead of doing it again."""
    in_progress: InProgress = "conflict"
    """A repeat while the first still runs: `in_progress_status`, wait for the first, or be refused with 422."""
    in_progress_status: int = 409
    lock_timeout_seconds: float | None = None
    """When a key that is still in progress lets a second request through; None: never."""
    lookup: bool = True
    """Whether GET shows records at all; if not it answers 405."""
    lookup_by: frozenset[str] = frozenset({"reference", "key"})
    """The selectors of ours that a lookup understands. Fields of the body always select."""
    lookup_lag_seconds: float = 0.0
    """How long a record that exists is not shown."""
    lookup_consistency: Consistency = "strong"
    """`eventual`: every second lookup asks a replica that lags twice as long."""
    late_arrival_seconds: float = 0.0
    """How long after `hang` or `late` the effect lands."""
    client_id: bool = False
    """PUT /PATH/ID makes the object of that id, if it is absent."""
    unique_field: str | None = None
    """A field of the body that only one object of a path may have."""
    two_step: bool = False
    """POST /PATH answers a prepared id without an effect; POST /PATH/ID/confirm makes the effect, once."""

    @property
    def takes_key(self) -> bool:
        """Whether anything makes a second request a repeat."""
        return self.content_key or any((self.key_header, self.key_body, self.key_query))

    def __post_init__(self) -> None:
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in allowed:
                raise ValueError(f"{name} is one of {_listed(allowed)}, not {getattr(self, name)!r}")
        for name, allowed in _SUBSETS.items():
            if not getattr(self, name) <= allowed:
                raise ValueError(f"{name} takes some of {_listed(allowed)}, not {_listed(getattr(self, name))}")

    @classmethod
    def from_json(cls, value: object) -> "SandboxContract":
        """Read a contract from a JSON object with any of the fields above. ValueError names what does not fit."""
        if not isinstance(value, dict):
            raise ValueError("a sandbox contract is a JSON object")
        given = cast("dict[str, object]", value)
        unknown = sorted(given.keys() - {field.name for field in fields(cls)})
        if unknown:
            raise ValueError(f"a sandbox contract has no field {', '.join(unknown)}")
        return cls(**{name: _read(name, item) for name, item in given.items()})  # pyright: ignore[reportArgumentType]

    def to_json(self) -> dict[str, object]:
        """The contract as JSON values; `from_json` reads it back."""
        named = {field.name: cast("object", getattr(self, field.name)) for field in fields(self)}
        return {
            name: sorted(cast("frozenset[str]", item)) if name in _SUBSETS else item for name, item in named.items()
        }


def _read(name: str, value: object) -> object:
    if name in _SUBSETS and isinstance(value, list):
        return frozenset(map(str, cast("list[object]", value)))
    if value is None and name in _NO_LIMIT | _TEXTS:
        return None
    if name in _SECONDS | _STATUSES:
        low, high = (400, 599) if name in _STATUSES else (0, float("inf"))
        fits = isinstance(value, int | float) and not isinstance(value, bool) and low <= value <= high
        fits = fits and (name in _SECONDS or isinstance(value, int))
    else:
        fits = isinstance(value, bool if name in _SWITCHES else str) and name not in _SUBSETS
    if not fits:
        raise ValueError(f"{name} cannot be {value!r}")
    return value


def _listed(names: frozenset[object]) -> str:
    return ", ".join(sorted(map(str, names))) or "nothing"
