"""The two documents of the API: one for success, one for errors, as the command line's."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from starlette.background import BackgroundTask
from starlette.responses import Response

from counterfoil.model.errors import CounterfoilError


def document(schema: str, data: Any, warnings: Sequence[dict[str, str]] = ()) -> dict[str, Any]:
    """`{ok, schema, data, warnings}`. `schema` without its version."""
    return {"ok": True, "schema": f"{schema}/1", "data": data, "warnings": list(warnings)}


def refusal(error: CounterfoilError) -> dict[str, Any]:
    """`{ok, schema, error: {code, message, safe_next, details}}`."""
    said = {"code": error.code, "message": error.message, "safe_next": error.safe_next, "details": error.details}
    return {"ok": False, "schema": "error/1", "error": said}


def respond(
    content: Any,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    background: BackgroundTask | None = None,
) -> Response:
    """As ASCII JSON: no locale and no half of a surrogate pair can break it."""
    text = json.dumps(content, ensure_ascii=True, default=str, allow_nan=False, separators=(",", ":"))
    return Response(text, status, headers, "application/json", background)


def answer(schema: str, data: Any, status: int = 200) -> Response:
    """A success."""
    return respond(document(schema, data), status)
