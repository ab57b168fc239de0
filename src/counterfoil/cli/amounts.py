"""Money as people read it."""

from collections.abc import Mapping
from typing import Any

from counterfoil.model.money import digits_of


def shown_amount(amount: Mapping[str, Any] | None) -> str | None:
    """`12.00 EUR`."""
    if amount is None or amount["minor"] is None or amount["currency"] is None:
        return None
    digits = digits_of(amount["currency"])
    sign, minor = ("-" if amount["minor"] < 0 else ""), abs(amount["minor"])
    whole = f"{minor // 10**digits}" + (f".{minor % 10**digits:0{digits}d}" if digits else "")
    return f"{sign}{whole} {amount['currency']}"
