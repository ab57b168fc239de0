"""Files that a command reads: bounded, and refused with a sentence."""

import json
import sys
from pathlib import Path
from typing import Any

from counterfoil.model.errors import Refused

LARGEST = 16 * 1024 * 1024


def read_bytes(path: str, *, what: str) -> bytes:
    """A file's bytes, or standard input's for `-`. Raises Refused(usage) and Refused(too_large)."""
    try:
        if path == "-" and sys.stdin is None:  # pyright: ignore[reportUnnecessaryComparison] - `<&-`
            raise ValueError("it is closed")
        if path == "-":
            content = sys.stdin.buffer.read(LARGEST + 1)
        else:
            with Path(path).open("rb") as file:
                content = file.read(LARGEST + 1)
    except (OSError, ValueError) as problem:
        said = problem.strerror if isinstance(problem, OSError) else str(problem)
        raise Refused("usage", problem=f"{what} cannot be read from {path}: {said}") from problem
    if len(content) > LARGEST:
        size = "more" if path == "-" else Path(path).stat().st_size
        raise Refused("too_large", what=what.capitalize(), size=size, limit=LARGEST)
    return content


def read_json(path: str, *, what: str) -> Any:
    """A file's JSON document. Raises as `json_of` and `read_bytes`."""
    return json_of(read_bytes(path, what=what))


def json_of(content: bytes) -> Any:
    """A JSON document. What two readers would read differently is refused: a name twice, NaN, half a character.

    Raises Refused(malformed_json).
    """
    try:
        value = json.loads(content.decode(), object_pairs_hook=_object, parse_constant=_no_number)
        json.dumps(value, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as problem:
        raise Refused("malformed_json", problem=_sentence(problem)) from problem
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        twice = next(name for n, (name, _) in enumerate(pairs) if name in {other for other, _ in pairs[:n]})
        raise ValueError(f"the name {twice!r} stands twice in one object")
    return found


def _no_number(text: str) -> Any:
    raise ValueError(f"{text} is no number in JSON")


def _sentence(problem: BaseException) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deeply"
    if isinstance(problem, UnicodeDecodeError):
        return f"it is not UTF-8 at byte {problem.start}"
    if isinstance(problem, UnicodeEncodeError):
        return "it holds half a surrogate pair"
    return str(problem).rstrip(".")
