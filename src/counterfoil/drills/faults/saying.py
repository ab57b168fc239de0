"""What a child has said, as one set of facts."""

from typing import Any, cast

from counterfoil.testing.children import Child


def said(child: Child) -> dict[str, Any]:
    """Everything it said that has names, later facts over earlier ones."""
    facts: dict[str, Any] = {}
    for told in child.said:
        if isinstance(told, dict):
            facts |= cast("dict[str, Any]", told)
    return facts
