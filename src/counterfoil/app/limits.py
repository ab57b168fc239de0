"""Limits as people write them: a count, seconds, decimal USD; `calls:NAME` for the calls of one name."""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation

from counterfoil.model.errors import Refused
from counterfoil.rules.budget import CALLS

KINDS = {"attempts": "attempts", "elapsed": "elapsed_us", "spend": "spend_micros", "tokens": "tokens"}
_COUNTS = frozenset({"attempts", "tokens"})
_LARGEST = 10**15


def limits_from(raises: Mapping[str, str | int] | None) -> dict[str, int]:
    """Limits by stored kind: counts, microseconds, millionths of a dollar. Raises Refused(usage)."""
    return {_kind(kind): _amount(kind, value) for kind, value in (raises or {}).items()}


def _kind(kind: str) -> str:
    if kind.startswith(CALLS) and kind != CALLS:
        return kind
    if kind not in KINDS:
        raise Refused("usage", problem=f"there is no budget {kind!r}; there are {', '.join(KINDS)} and {CALLS}NAME")
    return KINDS[kind]


def _amount(kind: str, value: str | int) -> int:
    try:
        number = Decimal(str(value))
        if not number.is_finite() or not 0 < number <= _LARGEST:
            raise ValueError(value)
        return int(number if kind in _COUNTS or kind.startswith(CALLS) else number * 1_000_000)
    except (InvalidOperation, ValueError) as problem:
        raise Refused("usage", problem=f"{kind}={value} is not a number above zero") from problem
