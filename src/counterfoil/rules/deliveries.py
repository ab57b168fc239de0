"""What a receiver's own message says: which of the contract's receipts it is, whose operation it names, and by what."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from counterfoil.model.contract import Contract
from counterfoil.model.contract_parts import Webhook
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


def heard(contracts: Iterable[Contract], body: Mapping[str, Any]) -> list[Heard]:
    """Each different way in which these contracts read the message; empty where none names its type."""
    found: dict[Webhook, Heard] = {}
    for contract in contracts:
        for webhook in contract.receipts:
            if text_at(body, webhook.type_path) == webhook.type:
                named = ids_within(text_at(body, webhook.operation) or "")
                reference = text_at(body, webhook.reference)
                found[webhook] = Heard(webhook, named, reference, text_at(body, webhook.dedupe))
    return list(found.values())


def type_of(contracts: Iterable[Contract], body: Mapping[str, Any]) -> str | None:
    """What the message says of its type, where these contracts look for it."""
    paths = dict.fromkeys(webhook.type_path for contract in contracts for webhook in contract.receipts)
    return next((found for path in (*paths, "type") if (found := text_at(body, path)) is not None), None)


def ids_within(text: str) -> frozenset[str]:
    """Operation ids that a text is, or holds: our id or key in a metadata field, or a marker in the words around it."""
    return frozenset(found for token in _tokens(text) for found in ids_in(token))


def _tokens(text: str) -> Iterator[str]:
    if not any(map(str.isspace, text)):
        yield text
    yield from _TOKEN.findall(text)


def text_at(body: Any, path: str | None) -> str | None:
    """The text or whole number at a dotted path; a number in the path is a place in a list."""
    if path is None:
        return None
    for part in path.split("."):
        if isinstance(body, list) and part.isdecimal():
            items = cast("list[Any]", body)
            body = items[int(part)] if int(part) < len(items) else None
        else:
            body = cast("Mapping[str, Any]", body).get(part) if isinstance(body, Mapping) else None
    if isinstance(body, int) and not isinstance(body, bool):
        return str(body)
    return body if isinstance(body, str) else None
