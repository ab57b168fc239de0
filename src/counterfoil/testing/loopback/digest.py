"""Digests of JSON values, computed without any of Counterfoil's own code, so that they can check it."""

import hashlib
import json
from typing import Any, cast

import rfc8785


def digest_of(value: object) -> str:
    """`sha256:<64 hex>` of the RFC 8785 form of a JSON value. ValueError when it has none (NaN, 2**53 and more)."""
    return "sha256:" + hashlib.sha256(rfc8785.dumps(cast("Any", value))).hexdigest()


def parse_json(text: bytes | str) -> object:
    """The JSON value in `text`. ValueError for malformed text, and for NaN and Infinity, which JSON does not have."""
    return cast("object", json.loads(text, parse_constant=_not_json))


def as_object(value: object) -> dict[str, object]:
    """The value if it is a JSON object, else an empty one."""
    return cast("dict[str, object]", value) if isinstance(value, dict) else {}


def as_objects(value: object) -> list[dict[str, object]]:
    """The value if it is a JSON array, each item as by `as_object`; else an empty list."""
    return [as_object(item) for item in cast("list[object]", value)] if isinstance(value, list) else []


def _not_json(constant: str) -> object:
    raise ValueError(f"{constant} is not JSON")
