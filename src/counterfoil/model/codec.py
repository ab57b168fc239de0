"""Bytes and digests: canonical JSON under what people approve, and the digest of stored bytes."""

import hashlib
import json
from typing import Any

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


def parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)
