"""The one JSON document of every command."""

import json
from collections.abc import Sequence
from typing import Any

Document = dict[str, Any]


def warning(code: str, message: str) -> dict[str, str]:
    """One entry of `warnings`: nothing is wrong with the answer, and somebody should know."""
    return {"code": code, "message": message}


def success(command: str, data: Any, warnings: Sequence[dict[str, str]] = ()) -> Document:
    """`{ok, schema, data, warnings}`. The schema is the command's words and a version that only gains fields."""
    return {"ok": True, "schema": f"{command}/1", "data": data, "warnings": list(warnings)}


def failure(code: str, message: str, safe_next: str, command: str | None, details: Any) -> Document:
    """`{ok, schema, error}`."""
    error = {"code": code, "message": message, "safe_next": safe_next, "command": command, "details": details}
    return {"ok": False, "schema": "error/1", "error": error}


def text_of(document: Document) -> str:
    """One line. ASCII only, so that neither a locale nor half a surrogate pair can break it."""
    return json.dumps(document, ensure_ascii=True, default=str, allow_nan=False) + "\n"
