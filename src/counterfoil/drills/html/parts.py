"""Parts of a report, read as JSON: a part that is not there is an empty one."""

from collections.abc import Mapping
from typing import Any, cast


def object_at(whole: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The object under a name."""
    part = whole.get(name)
    return dict(cast("Mapping[str, Any]", part)) if isinstance(part, Mapping) else {}


def list_at(whole: Mapping[str, Any], name: str) -> list[Any]:
    """The list under a name; one value alone is a list of one."""
    part = whole.get(name)
    if part is None:
        return []
    return list(cast("list[Any]", part)) if isinstance(part, list | tuple) else [part]
