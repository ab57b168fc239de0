"""What an accepted model answer used, and what it cost, where the answers say so and a price is known."""

from collections.abc import Sequence
from decimal import ROUND_CEILING, Decimal
from types import MethodType
from typing import Any

NAMES = ("requests", "input_tokens", "output_tokens")


def usage_of(result: Any) -> tuple[dict[str, Any], int | None]:
    """({requests, input_tokens, output_tokens}, cost in micro-USD, rounded up) of an agent's result.

    The cost is the sum over every response of the run. It is None where the price of one of them is not known: a part of a
    cost must not look like the whole.
    """
    usage = getattr(result, "usage", None)
    # A property since Pydantic AI 2, whose value is still callable, with a warning; a method of agents of an older shape.
    if isinstance(usage, MethodType):
        usage = usage()
    found = {name: getattr(usage, name, None) for name in NAMES}
    facts = {name: count for name, count in found.items() if isinstance(count, int)}
    costs = [cost_of(response) for response in _responses(result)]
    known = [cost for cost in costs if cost is not None]
    return facts, sum(known) if costs and len(known) == len(costs) else None


def cost_of(response: Any) -> int | None:
    """Micro-USD of one response, rounded up: a call that was paid for never counts as free. None without a known price.

    Whatever goes wrong while a price is looked up is "not known": an answer that came is never lost to its price.
    """
    try:
        price = Decimal(response.cost().total_price) * 1_000_000
        return int(price.to_integral_value(ROUND_CEILING)) if price >= 0 else None
    except Exception:  # a model that no list knows, usage that was left out, a list that cannot be read
        return None


def _responses(result: Any) -> Sequence[Any]:
    messages: Any = getattr(result, "new_messages", None)
    if callable(messages):
        found: Any = messages()
        return [message for message in found if getattr(message, "kind", None) == "response"]
    response = getattr(result, "response", None)
    return [] if response is None else [response]
