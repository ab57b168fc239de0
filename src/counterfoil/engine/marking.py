"""What a payload's annotations mark: the amount of money that a write moves, and whom or what it changes."""

import inspect
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from types import NoneType, UnionType
from typing import Any, cast

from counterfoil.model.errors import Refused
from counterfoil.model.money import Amount, Money, Target, digits_of, is_currency

_LARGEST = 2**53  # what canonical JSON holds as a number


@dataclass(frozen=True, slots=True)
class Marks:
    """`amount` and `target` are names of payload fields, None where nothing is marked. `whole`: the amount is a Decimal."""

    amount: str | None = None
    money: Money | None = None
    whole: bool = False
    target: str | None = None

    def amount_in(self, payload: Any, *, name: str) -> Amount | None:
        """The marked amount of a typed payload. Raises Refused(invalid_payload): negative, too fine, too large, no currency."""
        if self.amount is None or self.money is None:
            return None
        value = _part(payload, self.amount)
        if value is None:
            return None
        code = self.money.currency
        currency = code if is_currency(code) else str(_part(payload, code) or "").upper()
        if not is_currency(currency):
            raise _unfit(name, self.amount, f"{currency!r} is no currency code")
        minor = value.scaleb(digits_of(currency)) if self.whole else Decimal(value)
        if not minor.is_finite() or minor != minor.to_integral_value():
            raise _unfit(name, self.amount, f"{value} is finer than {currency} can be")
        if not 0 <= minor <= _LARGEST:
            raise _unfit(name, self.amount, f"{value} is below zero, or larger than can be stored")
        return Amount(int(minor), currency)

    def target_in(self, payload: Any) -> str | None:
        """The marked target of a typed payload, as text."""
        value = None if self.target is None else _part(payload, self.target)
        return None if value is None else str(value)


@cache
def marks_of(function: Callable[..., Any]) -> Marks:
    """Read the annotations of an operation's payload. Raises Refused(money_marking)."""
    name = getattr(function, "__name__", type(function).__name__)
    payload = _payload_type(function)
    hints = _fields_of(payload)
    found: dict[type, list[tuple[str, Any]]] = {Money: [], Target: []}
    for field, hint in hints.items():
        marked = [each for each in _metadata(hint) if isinstance(each, Money | Target)]
        for each in marked:
            found[type(each)].append((field, each))
        if len(_marks_within(hint)) > len(marked):
            raise _wrong(name, f"the mark of {field} stands inside another type; mark the field itself")
    for kind, places in found.items():
        if len(places) > 1:
            raise _wrong(
                name, f"{kind.__name__} marks {' and '.join(field for field, _ in places)}; one field is marked"
            )
    if not hints and _marks_within(payload):
        raise _wrong(name, "the payload itself is marked; mark a field of it")
    target = found[Target][0][0] if found[Target] else None
    if not found[Money]:
        return Marks(target=target)
    field, money = found[Money][0]
    return Marks(field, money, _is_whole(name, field, hints[field], cast("Money", money), hints), target)


def _is_whole(name: str, field: str, hint: Any, money: Money, hints: Mapping[str, Any]) -> bool:
    kinds = set(_alternatives(hint)) - {NoneType}
    if kinds not in ({int}, {Decimal}):
        raise _wrong(name, f"{field} is neither int (minor units) nor Decimal")
    if not is_currency(money.currency):
        if money.currency not in hints:
            raise _wrong(name, f"{money.currency!r} is neither a currency code nor a field of the payload")
        if not all(_is_text(each) for each in _alternatives(hints[money.currency]) if each is not NoneType):
            raise _wrong(name, f"the currency's field {money.currency} is no text")
    return kinds == {Decimal}


def _is_text(kind: Any) -> bool:
    if typing.get_origin(kind) is typing.Literal:
        return all(isinstance(each, str) for each in typing.get_args(kind))
    return isinstance(kind, type) and issubclass(kind, str)


def _payload_type(function: Callable[..., Any]) -> Any:
    parameters = list(inspect.signature(function).parameters.values())
    return typing.get_type_hints(function, include_extras=True)[parameters[1].name]


def _fields_of(payload: Any) -> dict[str, Any]:
    """The fields of a model, a dataclass or a typed dictionary; nothing for a plain value."""
    kind = typing.get_origin(payload) or payload
    if not isinstance(kind, type) or kind.__module__ == "builtins":
        return {}
    return typing.get_type_hints(kind, include_extras=True)


def _metadata(hint: Any) -> tuple[Any, ...]:
    return hint.__metadata__ if typing.get_origin(hint) is typing.Annotated else ()


def _alternatives(hint: Any) -> tuple[Any, ...]:
    if typing.get_origin(hint) is typing.Annotated:
        return _alternatives(typing.get_args(hint)[0])
    if typing.get_origin(hint) in (typing.Union, UnionType):
        return tuple(part for each in typing.get_args(hint) for part in _alternatives(each))
    return (hint,)


def _marks_within(hint: Any) -> list[Any]:
    own = [each for each in _metadata(hint) if isinstance(each, Money | Target)]
    parts = typing.get_args(hint)[:1] if _metadata(hint) else typing.get_args(hint)
    return own + [mark for part in parts for mark in _marks_within(part)]


def _part(payload: Any, field: str) -> Any:
    return cast("Mapping[str, Any]", payload).get(field) if isinstance(payload, Mapping) else getattr(payload, field)


def _wrong(name: str, problem: str) -> Refused:
    return Refused("money_marking", name=name, problem=problem)


def _unfit(name: str, field: str, problem: str) -> Refused:
    return Refused("invalid_payload", where=f"{field} of {name}", problem=problem)
