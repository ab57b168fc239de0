"""The shape of every list."""

from typing import Any


def listed(items: list[dict[str, Any]], next_cursor: int | None) -> dict[str, Any]:
    """`{items, next_cursor}`; the cursor is given back as `cursor`, None at the end."""
    return {"items": items, "next_cursor": next_cursor}
