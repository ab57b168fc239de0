"""What an answer means. The contract's rules over the recorded exchange decide, never a tool's return value."""

from collections.abc import Mapping
from typing import Any

from counterfoil.model.contract import Contract, Rule
from counterfoil.model.contract_parts import Meaning
from counterfoil.model.exchange import Exchange

_UNREADABLE = object()
_MISSING = object()


def classify(contract: Contract, exchange: Exchange) -> Meaning:
    """The meaning of the first rule that fits; none: ambiguous."""
    if not exchange.sent:
        return Meaning.NOT_APPLIED  # our own layer proved that no byte left
    if not exchange.complete or exchange.status is None:
        # Half a reply may be the half that does not say "error": it never becomes more than a doubt.
        return Meaning.AMBIGUOUS
    body = _parsed(exchange)
    for rule in contract.classifier:
        if not _head_fits(rule, exchange):
            continue
        if rule.body and body is _UNREADABLE:
            # This rule would have to read the body and cannot. A later, broader rule ("2xx is applied") must not
            # take over: errors inside HTTP 200 would become successes.
            return Meaning.AMBIGUOUS
        if all(_value_fits(_at(body, path), wanted) for path, wanted in rule.body.items()):
            return _staged(contract, rule, exchange.status)
    if _in_classes(exchange.status, contract.before_execution):
        return Meaning.NOT_APPLIED
    return Meaning.AMBIGUOUS


def replayed(contract: Contract, headers: Mapping[str, str], content: bytes = b"") -> bool | None:
    """Whether an answer carries the contract's replay marker; None where the contract names no marker."""
    key = contract.key
    if key is None or (key.replay_marker is None and key.replay_body is None):
        return None
    marked = all(_header_fits(headers, name.lower(), value) for name, value in (key.replay_marker or {}).items())
    if not marked or not key.replay_body:
        return marked
    body = _parsed(Exchange("body", True, body=content))
    return all(_value_fits(_at(body, path), wanted) for path, wanted in key.replay_body.items())


def status_class(status: int) -> str:
    """200 -> "2xx"."""
    return f"{status // 100}xx"


def _staged(contract: Contract, rule: Rule, status: int) -> Meaning:
    if status != 202 or rule.meaning is not Meaning.APPLIED or not isinstance(rule.status, str) or rule.body:
        return rule.meaning
    # 202 says "accepted for processing". Only a rule that names 202 or reads the body, or a contract whose answers are
    # final, makes it an effect.
    if contract.stages == "one":
        return Meaning.APPLIED
    return Meaning.IN_PROGRESS if contract.stages == "asynchronous" else Meaning.AMBIGUOUS


def _head_fits(rule: Rule, exchange: Exchange) -> bool:
    status = exchange.status or 0
    wanted = rule.status
    fits = wanted in ("any", status_class(status)) if isinstance(wanted, str) else status in wanted
    return fits and all(_header_fits(exchange.headers, name, value) for name, value in rule.header.items())


def _header_fits(headers: Mapping[str, str], name: str, wanted: str) -> bool:
    value = headers.get(name)
    return value is not None and (wanted == "*" or value.strip().lower() == wanted.lower())


def _in_classes(status: int, classes: Any) -> bool:
    return status in classes or status_class(status) in classes


def _parsed(exchange: Exchange) -> Any:
    try:
        return exchange.json()
    except (ValueError, RecursionError):
        return _UNREADABLE


def _at(body: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(body, dict) and part in body:
            body = body[part]  # pyright: ignore[reportUnknownVariableType]
        elif isinstance(body, list) and part.isdigit() and int(part) < len(body):  # pyright: ignore[reportUnknownArgumentType]
            body = body[int(part)]  # pyright: ignore[reportUnknownVariableType]
        else:
            return _MISSING
    return body  # pyright: ignore[reportUnknownVariableType]


def _value_fits(value: Any, wanted: object) -> bool:
    if value is _MISSING:
        return False
    if wanted is ...:
        return bool(value)
    # JSON keeps false and 0 apart; Python's == does not.
    return isinstance(value, bool) == isinstance(wanted, bool) and value == wanted
