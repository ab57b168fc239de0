"""From a file's tables to a `Contract`. What a file does not name stays unknown; what it names wrongly is refused."""

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from datetime import timedelta
from typing import Any

from counterfoil.model.contract import (
    Contract,
    IdempotencyKey,
    Lookup,
    Meaning,
    Provenance,
    Reference,
    Rule,
    Version,
    Webhook,
    When,
)
from counterfoil.model.ids import KeyFormat

_UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400}
_LASTING = re.compile(r"(\d+) (second|minute|hour|day)s?")
_TIMES = frozenset(
    {"retention", "account_retention", "margin", "lock_timeout", "arrives_within", "visible_within", "pause"}
    | {"request_timeout", "completes_within"}
)
_PARTS = {"reference": Reference, "version": Version, "provenance": Provenance}


class Misread(ValueError):
    """A file that does not say a contract."""


def read_contract(table: Mapping[str, Any]) -> Contract:
    """The contract that a table says. Times are "24 hours" or "for ever". Raises Misread."""
    made = dict(table)
    made["classifier"] = [_rule(rule) for rule in table.get("classifier", ())]
    if "key" in made:
        key = _times(made["key"])
        key["format"] = KeyFormat(key.get("format", "text"))
        if "replay_body" in key:
            key["replay_body"] = _body(key["replay_body"])
        made["key"] = _made(IdempotencyKey, key)
    if "lookup" in made:
        made["lookup"] = _made(Lookup, {"function": "yours", **_times(made["lookup"])})
    for name, kind in _PARTS.items():
        if name in made:
            made[name] = _made(kind, made[name])
    if "receipts" in made:
        made["receipts"] = [_made(Webhook, webhook) for webhook in made["receipts"]]
    return _made(Contract, _times(made))


def overridden(contract: Contract, overrides: Mapping[str, Any]) -> Contract:
    """The contract with these attributes replaced, by path: `key.account_retention`. Raises Misread for one it lacks.

    `{"key": None}`: this receiver speaks the protocol and takes no key.
    """
    if overrides.get("key", contract.key) is None:
        contract = _keyless(contract)
    for path, value in overrides.items():
        holder, _, name = path.rpartition(".")
        part: Any = getattr(contract, holder, None) if holder else contract
        if part is None or name not in {field.name for field in fields(part)}:
            raise Misread(f"there is no attribute {path} to override")
        changed: Any = replace(part, **{name: _time(value) if name in _TIMES and isinstance(value, str) else value})
        contract = replace(contract, **{holder: changed}) if holder else changed
    if contract.provenance is None:
        return contract
    # The word of an account is documented by whoever gives it; a claim that nobody stands behind would be refused.
    confidence = {**contract.provenance.confidence, **dict.fromkeys(overrides, "documented")}
    return replace(contract, provenance=replace(contract.provenance, confidence=confidence))


def _keyless(contract: Contract) -> Contract:
    """Without what is only said of a key: its answers, and how sure its claims are."""
    about = (Meaning.KEY_MISMATCH, Meaning.KEY_POISONED)
    rules = [rule for rule in contract.classifier if rule.meaning not in about]
    origin = contract.provenance
    if origin is not None:
        said = {path: word for path, word in origin.confidence.items() if not path.startswith("key.")}
        origin = replace(origin, confidence=said)
    return replace(contract, key=None, classifier=rules, provenance=origin)


def _made(kind: Any, values: Mapping[str, Any]) -> Any:
    known = {field.name for field in fields(kind) if field.init}
    if unknown := sorted(values.keys() - known):
        raise Misread(f"{kind.__name__} has no attribute {', '.join(unknown)}")
    try:
        return kind(**values)
    except (TypeError, ValueError) as problem:
        raise Misread(f"{kind.__name__}: {problem}") from problem


def _rule(table: Mapping[str, Any]) -> Rule:
    if unknown := sorted(table.keys() - {"status", "header", "body", "means"}):
        raise Misread(f"a rule of the classifier has no {', '.join(unknown)}")
    status = table.get("status", "any")
    try:
        when = When(
            status=frozenset(status) if isinstance(status, list) else status,  # pyright: ignore[reportUnknownArgumentType]
            header=table.get("header", {}),
            body=_body(table.get("body", {})),
        )
        return when.means(table["means"])
    except (KeyError, ValueError) as problem:
        raise Misread(f"a rule of the classifier: {problem}") from problem


def _body(table: Mapping[str, Any]) -> dict[str, object]:
    return {path: ... if value == "<there>" else value for path, value in table.items()}


def _times(table: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _time(value) if name in _TIMES else value for name, value in table.items()}


def _time(text: Any) -> timedelta:
    if text == "for ever":
        return timedelta.max
    fits = _LASTING.fullmatch(text) if isinstance(text, str) else None
    if fits is None:
        raise Misread(f"{text!r} is not a time such as '24 hours'")
    return timedelta(seconds=int(fits[1]) * _UNITS[fits[2]])
