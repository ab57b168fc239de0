"""The parts of a contract: what an answer means, how the key behaves, what a lookup can show. None is unknown."""

from collections.abc import Callable, Coroutine, Mapping, Sequence, Set
from dataclasses import KW_ONLY, dataclass, field
from datetime import timedelta
from enum import StrEnum
from types import EllipsisType
from typing import Any, Generic, Literal, TypeVar

from pydantic import BaseModel

from counterfoil.model.ids import KeyFormat

R = TypeVar("R")
Word = Literal["applied", "refused", "not_applied", "in_progress", "key_mismatch", "key_poisoned", "ambiguous"]


class Meaning(StrEnum):
    """What one answer says about one attempt."""

    APPLIED = "applied"  # the effect is there
    REFUSED = "refused"  # refused for good: this attempt had no effect
    NOT_APPLIED = "not_applied"  # never sent, or answered before execution: it may be tried again
    IN_PROGRESS = "in_progress"  # the receiver still works on it
    KEY_MISMATCH = "key_mismatch"  # our key is bound to other content there
    KEY_POISONED = "key_poisoned"  # a saved error: this key can never answer anything else
    AMBIGUOUS = "ambiguous"  # nothing can be concluded


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of a classifier. `status` is "any", a class such as "2xx", or a set of numbers.

    `header` names are lower case. `body` maps dotted paths to JSON values; `...` means: there, and not null, false or empty.
    """

    status: str | frozenset[int]
    header: Mapping[str, str]
    body: Mapping[str, object]
    meaning: Meaning


@dataclass(frozen=True, slots=True, kw_only=True)
class When:
    """The condition of a rule: status, headers and body paths must all fit. A header value "*" means: present."""

    status: int | str | Set[int] = "any"
    header: Mapping[str, str] = field(default_factory=dict[str, str])
    body: Mapping[str, object] = field(default_factory=dict[str, object])

    def means(self, meaning: Word) -> Rule:
        """The rule that gives `meaning` to every answer that fits. Raises ValueError for an unknown status or meaning."""
        status = self.status
        if isinstance(status, str) and status not in ("any", "1xx", "2xx", "3xx", "4xx", "5xx"):
            raise ValueError(
                f"status {status!r} is neither a number, a set of numbers, a class such as '2xx', nor 'any'"
            )
        if isinstance(status, int):
            status = frozenset({status})
        elif not isinstance(status, str):
            status = frozenset(status)
        header = {name.lower(): value for name, value in self.header.items()}
        return Rule(status, header, dict(self.body), Meaning(meaning))


@dataclass(frozen=True, slots=True, kw_only=True)
class Carrier:
    """Where a value travels in a request: exactly one of a header, a query parameter, a dotted body path, or the path.

    `path` is a word that the tool writes into the path, such as "{key}"; the value takes its place.
    """

    header: str | None = None
    query: str | None = None
    body: str | None = None
    path: str | None = None

    @property
    def places(self) -> list[str]:
        """The places that are named, as `header:NAME`, `query:NAME`, `body:PATH` or `path:WORD`."""
        named = (("header", self.header), ("query", self.query), ("body", self.body), ("path", self.path))
        return [f"{kind}:{name}" for kind, name in named if name]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference(Carrier):
    """Where our operation id is stamped, besides the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Version(Carrier):
    """Where the API version travels. Here `path` is what stands around it, such as "/services/data/{}/"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdempotencyKey(Carrier):
    """A key under which the receiver makes a second request harmless, and the limits of that promise.

    `retention`: the shortest time a key is kept; without a value it is refused at start; timedelta.max: for ever.
    `account_retention` replaces it for this account. `clock`: what starts the window. `margin`: kept free before its end.
    `scope`: what narrows the key; where one of it changed, the same key acts again. `other_body`: what the same key with
    other bytes does. `saves`: which answers are replayed. `unsaved`: what a repeat does after one that is not; "resumes": it
    drives the same work on. `replay_marker`: headers, `replay_body`: body paths, that only a replay carries.
    `in_progress`: what a concurrent repeat gets. `lock_timeout`: when its lock lets go though the first may still run.
    `arrives_within`: how long after a sender's end its request may still arrive. `min_length`, `max_length`: what fits.
    `after_window`: what the key does when its window is over; "refuses": a late repeat has no effect.
    """

    format: KeyFormat = KeyFormat.TEXT
    min_length: int | None = None
    max_length: int | None = None
    retention: timedelta | None = None
    account_retention: timedelta | None = None
    clock: Literal["first_sent", "first_accepted", "completion", "close"] | None = None
    margin: timedelta | None = None
    after_window: Literal["acts_again", "refuses"] | None = None
    scope: Set[str] | None = None
    other_body: Literal["rejects", "replays", "identity", "overwrites"] | None = None
    saves: Set[str] | None = None
    unsaved: Literal["acts_again", "resumes"] | None = None
    replay_marker: Mapping[str, str] | None = None
    replay_body: Mapping[str, object] | None = None
    in_progress: Literal["status", "waits", "refuses", "both_may_fail"] | None = None
    lock_timeout: timedelta | None = None
    arrives_within: timedelta | None = None

    def __post_init__(self) -> None:
        for name in ("scope", "saves"):
            value: Set[str] | None = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, frozenset(value))


@dataclass(frozen=True, slots=True)
class Lookup:
    """How the receiver is asked about one operation. `function` is called with (Ask, payload) and returns Seen.

    `visible_within`: an effect shows in the lookup after this time. `arrives_within`: how long after its sender's end a
    request may still arrive. `absence_authorises`: None means yes exactly if consistency and both times are given.
    `finds_by`: a record found by our "operation_id" or "key" is ours though its content is not compared; by "content", or
    unknown, only equal content counts. `pause`: before the receiver is asked again.
    """

    function: "Callable[[Any, Any], Coroutine[Any, Any, Seen[Any]] | Seen[Any]] | str"
    _: KW_ONLY
    consistency: Literal["strong", "eventual"] | None = None
    visible_within: timedelta | None = None
    arrives_within: timedelta | None = None
    absence_authorises: bool | None = None
    finds_by: Literal["operation_id", "key", "content"] | None = None
    pause: timedelta = timedelta(seconds=10)


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """A message of the receiver about an operation: its type, the path to our id, and the path to its own id.

    `operation`: a text that is our operation id or key, or holds it, such as a marker in a comment. `reference`: the path to
    what the tool's receipt calls its reference; with it a message is found by that alone, and two that name two records are
    an incident. `means` "later": what became of the effect afterwards, such as a refund that bounced; it never reopens.
    """

    type: str
    operation: str | None = None
    dedupe: str
    type_path: str = "type"
    reference: str | None = None
    means: Literal["happened", "later"] = "happened"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Where the claims come from. `confidence` maps an attribute such as "key.saves" to documented, inferred or unknown."""

    sources: Sequence[str] = ()
    date: str | None = None
    confidence: Mapping[str, str] = field(default_factory=dict[str, str])


class Found(Generic[R]):
    """A record the receiver showed: its receipt, and its content as the receiver holds it (None: existence only)."""

    __slots__ = ("payload", "receipt")

    def __init__(self, receipt: R, *, payload: BaseModel | None = None) -> None:
        self.receipt = receipt
        self.payload = payload


class Seen(Generic[R]):
    """Everything a lookup saw of ours. `complete` says whether the walk saw everything there is."""

    __slots__ = ("complete", "records")

    def __init__(self, records: Sequence[Found[R]], *, complete: bool) -> None:
        self.records = tuple(records)
        self.complete = complete


THERE: EllipsisType = ...  # a body condition: there, and not null, false or empty
