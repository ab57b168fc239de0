"""A write request as the sandbox understands it: its key, our reference, its body and the body's digest."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from urllib.parse import parse_qs

from counterfoil.testing.loopback.digest import as_object, digest_of, parse_json
from counterfoil.testing.loopback.exchange import Request
from counterfoil.testing.sandbox.contract import SandboxContract

REFERENCE_HEADER = "counterfoil-operation"
DEFAULT_KEY_HEADER = "Idempotency-Key"
_BRACKETS = re.compile(r"\[([^\]]*)\]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """One request for an effect. `payload` is the body as sent, `fields` the same as an object to show and select by."""

    method: str
    path: str
    key: str | None
    reference: str | None
    credential: str
    payload: object
    form: bool
    digest: str
    create_only: bool = False
    """`If-None-Match: *`: only if the object is absent."""
    object_id: str | None = None
    """The id that the client chose, if the contract lets it."""


def read_write(request: Request, key_header: str | None) -> Write:
    """Understand a request. ValueError for a body that is neither JSON nor a form, or that has no canonical form."""
    form = request.headers.get("content-type", "").startswith("application/x-www-form-urlencoded")
    payload = _form(request.body) if form else _json(request.body)
    return Write(
        method=request.method,
        path=request.path.rstrip("/") or "/",
        key=request.headers.get((key_header or DEFAULT_KEY_HEADER).lower()),
        reference=request.headers.get(REFERENCE_HEADER) or _reference_in(payload),
        # Only a digest of the credential is kept: the sandbox's memory and its file hold no secrets.
        credential=hashlib.sha256(request.headers.get("authorization", "").encode()).hexdigest(),
        payload=payload,
        form=form,
        digest=digest_of(payload),
        create_only=request.headers.get("if-none-match") == "*",
    )


def with_key(write: Write, request: Request, contract: SandboxContract) -> Write:
    """The write with its key, from wherever this contract has it. A key in a header is there already."""
    if contract.content_key:
        return replace(write, key=write.digest)
    if contract.key_header is not None:
        return write
    found: object = write.payload if contract.key_body else None
    for name in (contract.key_body or "").split("."):
        found = as_object(found).get(name)
    found = request.query.get(contract.key_query) if contract.key_query else found
    return replace(write, key=found) if isinstance(found, str) else write


def fields_of(payload: object, *, form: bool) -> dict[str, object]:
    """The body as an object: a form's `metadata[operation]` nests, and its whole numbers are numbers."""
    if not form:
        return as_object(payload)
    nested: dict[str, object] = {}
    for name, value in as_object(payload).items():
        place, last = nested, name.split("[")[0]
        for inner in _BRACKETS.findall(name):
            deeper = as_object(place.get(last))
            place[last] = deeper
            place, last = deeper, inner
        place[last] = int(value) if isinstance(value, str) and re.fullmatch(r"0|-?[1-9]\d{0,14}", value) else value
    return nested


def _json(body: bytes) -> object:
    try:
        return parse_json(body) if body else {}
    except ValueError as reason:
        raise ValueError(f"the body is not JSON: {reason}") from None


def _form(body: bytes) -> object:
    try:
        pairs: Mapping[str, list[str]] = parse_qs(body.decode(), keep_blank_values=True)
    except UnicodeDecodeError:
        raise ValueError("the form is not UTF-8") from None
    return {name: values[0] if len(values) == 1 else values for name, values in pairs.items()}


def _reference_in(payload: object) -> str | None:
    fields = as_object(payload)
    found = as_object(fields.get("metadata")).get("operation") or fields.get("metadata[operation]")
    return found if isinstance(found, str) else None
