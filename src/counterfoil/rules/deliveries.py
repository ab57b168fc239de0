"""What a receiver's own message says: which of the contract's receipts it is, whose operation it names, and by what."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from counterfoil.model.contract import Contract
from counterfoil.model.contract_parts import Webhook
from counterfoil.rules.classify import body_fits
from counterfoil.rules.statement_match import ids_in

_SHORTEST_KEY = 20
_TOKEN = re.compile(rf"[0-9A-Za-z_-]{{{_SHORTEST_KEY},60}}")


@dataclass(frozen=True, slots=True)
class Heard:
    """One way to read a message. `operation_ids`: ours that it names; `reference`: the receiver's; `own_id`: the message's."""

    webhook: Webhook
    operation_ids: frozenset[str]
    reference: str | None
    own_id: str | None

    @property
    def proves(self) -> str:
        """A message that names the reference of our receipts speaks of the first result, one about later of the state."""
        if self.webhook.means == "later":
            return "current_state"
        return "first_result" if self.webhook.reference and self.reference else "existence"

    @property
    def may_be_ours(self) -> bool:
        """Whatever we write bears our id where the contract says so: a message without one there is about somebody else's."""
        return bool(self.operation_ids) or not (self.webhook.operation or self.webhook.shared)


def heard(contracts: Iterable[Contract], body: Mapping[str, Any], headers: Mapping[str, str]) -> list[Heard]:
    """Each different way in which these contracts read the message; empty where none does. `headers`: names in lower case.

    The first of a contract's receipts that fits is how it reads the message, as with the rules of its classifier.
    """
    found: list[Heard] = []
    for contract in contracts:
        fits = (each for each in contract.receipts if _type_in(each, body, headers) == each.type)
        webhook = next((each for each in fits if body_fits(body, each.when)), None)
        if webhook is not None and all(webhook != reading.webhook for reading in found):
            named = frozenset(_named(webhook, body))
            found.append(Heard(webhook, named, text_at(body, webhook.reference), text_at(body, webhook.dedupe)))
    return found


def type_of(contracts: Iterable[Contract], body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    """What the message says of its type, where these contracts look for it."""
    webhooks = [webhook for contract in contracts for webhook in contract.receipts]
    said = [_type_in(webhook, body, headers) for webhook in webhooks]
    return next((found for found in (*said, text_at(body, "type")) if found is not None), None)


def _type_in(webhook: Webhook, body: Mapping[str, Any], headers: Mapping[str, str]) -> str | None:
    return text_at(body, webhook.type_path) if webhook.type_header is None else headers.get(webhook.type_header.lower())


def _named(webhook: Webhook, body: Mapping[str, Any]) -> Iterator[str]:
    """Our ids in it. With a marker only the one that it surrounds at the end of a text: words around it may quote others."""
    for text in _texts_at(body, webhook.operation):
        if webhook.marker is None:
            yield from ids_within(text)
            continue
        before, _, after = webhook.marker.partition("{}")
        whole = text.replace("\r\n", "\n").rstrip()
        _, found, rest = whole.rpartition(before) if before else ("", "-", whole)
        named = rest.removesuffix(after)
        if found and rest.endswith(after) and named.split() == [named]:
            yield from ids_in(named)


def ids_within(text: str) -> frozenset[str]:
    """Operation ids that a text is, or holds: our id or key in a metadata field, or a marker in the words around it."""
    return frozenset(found for token in _tokens(text) for found in ids_in(token))


def _tokens(text: str) -> Iterator[str]:
    if not any(map(str.isspace, text)):
        yield text
    yield from _TOKEN.findall(text)


def _texts_at(body: Any, path: str | None) -> list[str]:
    """The text at a path, or the texts of a list there, such as labels."""
    if path is None:
        return []
    held = _at(body, path)
    items = cast("list[Any]", held) if isinstance(held, list) else [held]
    return [text for text in map(_text, items) if text is not None]


def text_at(body: Any, path: str | None) -> str | None:
    """The text or whole number at a dotted path; a number in the path is a place in a list."""
    return None if path is None else _text(_at(body, path))


def _at(body: Any, path: str) -> Any:
    for part in path.split("."):
        if isinstance(body, list) and part.isdecimal():
            items = cast("list[Any]", body)
            body = items[int(part)] if int(part) < len(items) else None
        else:
            body = cast("Mapping[str, Any]", body).get(part) if isinstance(body, Mapping) else None
    return body


def _text(held: Any) -> str | None:
    if isinstance(held, int) and not isinstance(held, bool):
        return str(held)
    return held if isinstance(held, str) else None
