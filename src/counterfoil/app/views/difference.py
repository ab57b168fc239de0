"""What differs between two payloads, field by field, and between two texts, line by line."""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

LONGEST_TEXT = 4000  # lines compared; beyond that only the digests are


def payload_difference(before: Any, after: Any) -> list[dict[str, Any]]:
    """`[{field, what: same|changed|added|removed, before, after}]` in the order of `after`, then what is gone.

    A field is a path: `lines[2].amount`. A scalar payload is the field `value`.
    """
    was, now = dict(_leaves(before, "")), dict(_leaves(after, ""))
    rows = [_row(field, was, now) for field in now]
    return rows + [_row(field, was, now) for field in was if field not in now]


def payload_fields(payload: Any, marked: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """`[{field, value, mark}]`: every leaf of a payload. `mark` says what a field is marked as, None where it is not."""
    marks = marked or {}
    return [{"field": field, "value": value, "mark": marks.get(field)} for field, value in _leaves(payload, "")]


def text_difference(before: str, after: str) -> list[dict[str, str]]:
    """`[{what: same|added|removed, line}]`, whole. Very long texts are compared as two blocks."""
    was, now = before.splitlines(), after.splitlines()
    if max(len(was), len(now)) > LONGEST_TEXT:
        return [{"what": "removed", "line": line} for line in was] + [{"what": "added", "line": line} for line in now]
    found: list[dict[str, str]] = []
    matcher = difflib.SequenceMatcher(a=was, b=now, autojunk=False)
    for kind, a0, a1, b0, b1 in matcher.get_opcodes():
        if kind == "equal":
            found += [{"what": "same", "line": line} for line in was[a0:a1]]
            continue
        found += [{"what": "removed", "line": line} for line in was[a0:a1]]
        found += [{"what": "added", "line": line} for line in now[b0:b1]]
    return found


def _row(field: str, was: dict[str, Any], now: dict[str, Any]) -> dict[str, Any]:
    if field not in was:
        return {"field": field, "what": "added", "before": None, "after": now[field]}
    if field not in now:
        return {"field": field, "what": "removed", "before": was[field], "after": None}
    # 1 and true are equal to Python, and are not the same to a receiver.
    same = was[field] == now[field] and type(was[field]) is type(now[field])
    return {"field": field, "what": "same" if same else "changed", "before": was[field], "after": now[field]}


def _leaves(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict) and value:
        for name, item in value.items():  # pyright: ignore[reportUnknownVariableType]
            yield from _leaves(item, f"{path}.{name}" if path else str(name))  # pyright: ignore[reportUnknownArgumentType]
    elif isinstance(value, list) and value:
        for place, item in enumerate(value):  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]
            yield from _leaves(item, f"{path}[{place}]")
    else:
        yield path or "value", value
