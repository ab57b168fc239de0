"""Where the contract's values stand in a request: our key in the path, and the API version that goes out."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from counterfoil.model.contract import Contract
from counterfoil.model.errors import Refused

WORD = "{key}"  # where a tool wants the value inside a text of its own


def filled(given: Any, value: str) -> str:
    """The value; inside the tool's own text where that holds `{key}`, as in `identifier=urn:us|{key}` or `"{key}"`."""
    return given.replace(WORD, value) if isinstance(given, str) and WORD in given else value


def placed(path: str, word: str, value: str) -> str:
    """The path with the value where the tool wrote the word. Raises Refused(outside_operation) where it did not.

    Without our value in it the request would name another object, or make a new one each time.
    """
    if path.count(word) != 1:
        raise Refused(
            "outside_operation", problem=f"the path {path!r} does not hold {word} once, where the key belongs"
        )
    return path.replace(word, quote(value, safe=""))


def same_version(contract: Contract, url: str, head: Mapping[str, Any], query: Mapping[str, Any], body: Any) -> None:
    """Raises Refused(contract_version_mismatch) where the request names another API version than the contract is about.

    The contract's facts hold for that version alone: under another one a repeat may be a second effect. A version in the
    path must be there; one in a header, the query or the body is added by us where the tool names none.
    """
    version, wanted = contract.version, contract.api_version
    if version is None:
        return
    if version.path:
        part = version.path.format(wanted)
        sent = wanted if part in f"{url.partition('?')[0]}/" else "none in the path"
    elif version.header:
        sent = head.get(version.header.lower(), wanted)
    elif version.query:
        sent = query.get(version.query, wanted)
    else:
        sent = _at(body, version.body or "", wanted)
    if str(sent) != wanted:
        raise Refused("contract_version_mismatch", wanted=wanted, sent=str(sent))


def at_version(
    contract: Contract | None, params: Mapping[str, Any] | None, headers: Mapping[str, str] | None
) -> tuple[dict[str, Any] | None, dict[str, str]]:
    """Query and headers of a read at the contract's API version: what another version shows may be another record.

    A version in the path or in the body is the tool's to write: a read has no body, and its path is another one. Raises
    Refused(contract_version_mismatch) where the tool names another one.
    """
    head = {name.lower(): value for name, value in (headers or {}).items()}
    query = None if params is None else dict(params)
    version = None if contract is None else contract.version
    if contract is not None and version is not None:
        wanted, name = contract.api_version, version.header or version.query
        named = (
            head.get((version.header or "").lower()) if version.header else (query or {}).get(name or "")
        ) or wanted
        if str(named) != wanted:
            raise Refused("contract_version_mismatch", wanted=wanted, sent=str(named))
        if version.header:
            head[version.header.lower()] = wanted
        elif version.query:
            query = {**(query or {}), version.query: wanted}
    return query, head


def _at(body: Any, path: str, otherwise: str) -> Any:
    for name in path.split("."):
        if not isinstance(body, Mapping) or name not in body:
            return otherwise
        body = body[name]  # pyright: ignore[reportUnknownVariableType]
    return body  # pyright: ignore[reportUnknownVariableType]
