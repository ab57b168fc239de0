"""Opaque cursors: what a list gives as its next part, good for that list only."""

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as NotBase64
from typing import Any, cast

from counterfoil.model.errors import Refused

LARGEST = 2**63 - 1


def opaque(name: str, page: dict[str, Any]) -> dict[str, Any]:
    """A page of the list `name` with its cursor sealed."""
    cursor = page["next_cursor"]
    if cursor is None:
        return page
    text = json.dumps([name, cursor], separators=(",", ":"))
    return page | {"next_cursor": urlsafe_b64encode(text.encode()).decode().rstrip("=")}


def opened(name: str, cursor: str | None) -> Any:
    """What the list itself gave. Raises Refused(usage) for anything that this list did not give."""
    if cursor is None:
        return None
    try:
        content: Any = json.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (ValueError, NotBase64, RecursionError):
        content = None
    if isinstance(content, list):
        parts = cast("list[Any]", content)
        if len(parts) == 2 and parts[0] == name and _plain(parts[1]):
            return parts[1]
    raise Refused("usage", problem="the cursor is not one that this list gave")


def _plain(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, str) or (isinstance(value, int) and 0 <= value <= LARGEST)
