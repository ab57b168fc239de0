"""The contract: what a receiver guarantees for one action at one API version. Unknown takes the strictest reading."""

import json
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Any, Literal, cast

from counterfoil.model.codec import digest_of
from counterfoil.model.contract_checks import contradictions, gaps, refusal_at_start
from counterfoil.model.contract_parts import (
    Found,
    IdempotencyKey,
    Lookup,
    Meaning,
    Provenance,
    Reference,
    Rule,
    Seen,
    Version,
    Webhook,
    When,
)
from counterfoil.model.ids import KeyFormat

__all__ = [
    "Contract",
    "Found",
    "IdempotencyKey",
    "Lookup",
    "Meaning",
    "Provenance",
    "Reference",
    "Rule",
    "Seen",
    "Version",
    "Webhook",
    "When",
    "contradictions",
    "gaps",
    "refusal_at_start",
]

_TIMES = frozenset(
    {"retention", "account_retention", "margin", "lock_timeout", "arrives_within", "visible_within", "pause"}
    | {"request_timeout", "completes_within"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contract:
    """What a second request does, and what an answer proves.

    `classifier`: rules in order; the first that fits says what an answer means; none: ambiguous. `before_execution`:
    statuses (numbers, or classes such as "4xx") proven to precede execution. `version`: where `api_version` travels; what
    goes out under another one is refused. `stages`: "one" (an answer is final), "asynchronous" (202 means: at work),
    "prepare_confirm". `completes_within`: how long after a 202 the receiver may be at work; until then it is asked again
    and again. `precondition`: the receiver itself makes a repeat harmless.
    `compensation`: how the effect is undone, in words; never done by itself. `counts_as`: what a sweep of the receiver
    compares before it counts a record as ours. `procedure`: what a person checks, where, and what each answer means.
    """

    api_version: str
    classifier: Sequence[Rule]
    action: str | None = None
    key: IdempotencyKey | None = None
    lookup: Lookup | None = None
    procedure: str | None = None
    duplicate: Literal["benign", "costly", "irreversible"] = "irreversible"
    before_execution: Set[int | str] = frozenset()
    reference: Reference | None = None
    version: Version | None = None
    receipts: Sequence[Webhook] = ()
    stages: Literal["one", "asynchronous", "prepare_confirm"] | None = None
    completes_within: timedelta | None = None
    precondition: Literal["create_if_absent", "expected_version"] | None = None
    compensation: str | None = None
    counts_as: Set[str] = frozenset()
    provenance: Provenance | None = None
    request_timeout: timedelta = timedelta(seconds=30)

    def __post_init__(self) -> None:
        object.__setattr__(self, "classifier", tuple(self.classifier))
        object.__setattr__(self, "receipts", tuple(self.receipts))
        object.__setattr__(self, "before_execution", frozenset(self.before_execution))
        object.__setattr__(self, "counts_as", frozenset(self.counts_as))

    def stored(self) -> dict[str, Any]:
        """Plain JSON: times as integer microseconds, sets as sorted lists, functions by qualified name."""
        return _plain(self)

    def digest(self) -> str:
        """`sha256:<hex>` of the stored form."""
        return digest_of(json.dumps(self.stored(), sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode())

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> "Contract":
        """The contract that `stored()` described; functions stay names. Raises ValueError or TypeError if it is none."""
        made = _times(stored)
        made["classifier"] = [_rule(rule) for rule in stored["classifier"]]
        if stored.get("key"):
            key = _times(stored["key"])
            key["format"] = KeyFormat(key["format"])
            key["replay_body"] = _body(key["replay_body"]) if key.get("replay_body") is not None else None
            made["key"] = IdempotencyKey(**key)
        if stored.get("lookup"):
            made["lookup"] = Lookup(**_times(stored["lookup"]))
        for name, kind in (("reference", Reference), ("version", Version), ("provenance", Provenance)):
            if stored.get(name):
                made[name] = kind(**stored[name])
        made["receipts"] = [Webhook(**webhook) for webhook in stored.get("receipts", ())]
        return cls(**made)


def _plain(value: Any) -> Any:
    if value is ...:
        return {"there": True}
    if isinstance(value, timedelta):
        return value // timedelta(microseconds=1)
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in cast(Mapping[Any, Any], value).items()}
    if isinstance(value, Set):
        return sorted((_plain(item) for item in cast(Set[Any], value)), key=str)
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast(Sequence[Any], value)]
    if is_dataclass(value):
        return {item.name: _plain(getattr(value, item.name)) for item in fields(value)}
    if callable(value):
        return f"{value.__module__}:{value.__qualname__}"
    return value


def _times(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name: timedelta(microseconds=value) if name in _TIMES and value is not None else value
        for name, value in stored.items()
    }


def _rule(stored: Mapping[str, Any]) -> Rule:
    status = stored["status"] if isinstance(stored["status"], str) else frozenset(stored["status"])
    return Rule(status, dict(stored["header"]), _body(stored["body"]), Meaning(stored["meaning"]))


def _body(stored: Mapping[str, Any]) -> dict[str, Any]:
    return {path: ... if value == {"there": True} else value for path, value in stored.items()}
