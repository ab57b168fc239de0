"""What an accepted model answer used, and what it cost, where the agent's result says so."""

from types import MethodType
from typing import Any


def usage_of(result: Any) -> tuple[dict[str, Any], int | None]:
    """({requests, input_tokens, output_tokens}, cost in micro-USD). The cost is None where no price is known."""
    usage = getattr(
        result, "usage", None
    )  # a property since Pydantic AI 2; its value is still callable, with a warning
    names = ("requests", "input_tokens", "output_tokens")
    if isinstance(usage, MethodType):  # an agent of one's own, written to the older shape
        usage = usage()
    facts = {name: getattr(usage, name) for name in names if isinstance(getattr(usage, name, None), int)}
    return facts, _cost(result, usage)


def _cost(result: Any, usage: Any) -> int | None:
    response = getattr(result, "response", None)
    try:
        price = response.cost() if response is not None else None
        return None if price is None else int(price.total_price * 1_000_000)
    except (AssertionError, AttributeError, LookupError, ValueError, ImportError):
        del usage
        return None
