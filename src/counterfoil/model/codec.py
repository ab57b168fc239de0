"""Bytes and digests: canonical JSON under what people approve, and the digest of stored bytes."""

import hashlib
import json
import re
from typing import Any, cast

import rfc8785

from counterfoil.model.errors import Refused

BODY_LIMIT = 64 * 1024  # bytes; larger payloads are artifacts (design section 7)


def digest_of(content: bytes) -> str:
    """`sha256:<64 hex>` of the bytes."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


def canonical(value: Any, *, where: str = "value") -> bytes:
    """RFC 8785 bytes of a JSON value. Raises Refused(unserializable) naming `where`."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, TypeError, ValueError, RecursionError) as problem:
        raise Refused("unserializable", where=where, problem=str(problem)) from problem


def payload_digest(value: Any, *, where: str = "payload") -> str:
    return digest_of(canonical(value, where=where))


def compact(value: Any) -> str:
    """Plain JSON text for what is stored. Not canonical: journal entries hash the bytes stored."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        # Half a character, as a receiver's JSON may bring: it has no UTF-8, but an escape, and must not stop the writer.
        return json.dumps(value, separators=(",", ":"), allow_nan=False)
    return text


# Half a character has no UTF-8 form, and a NUL ends a text in some databases.
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def storable(value: Any) -> Any:
    """A JSON value from outside whose every text can be stored: what cannot be becomes U+FFFD, as where bytes are decoded.

    For what is told and read. What identifies something (a reference, an id) is refused instead: see `is_storable`.
    """
    if isinstance(value, str):
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, dict):
        return {storable(name): storable(each) for name, each in cast("dict[Any, Any]", value).items()}
    if isinstance(value, list):
        return [storable(each) for each in cast("list[Any]", value)]
    return value


def is_storable(text: str) -> bool:
    """Whether every character of a text has a place in a database's text."""
    return _UNSTORABLE.search(text) is None


def parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)
