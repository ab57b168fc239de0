"""What a message says of its own type, whoever's contract looks for it."""

from typing import Any

import pytest

from counterfoil.model.contract import Contract, When
from counterfoil.model.contract_parts import Webhook
from counterfoil.rules.deliveries import type_of


def contract(*receipts: Webhook) -> Contract:
    return Contract(
        api_version="1", classifier=[When(status="2xx").means("applied")], procedure="Ask.", receipts=receipts
    )


PLAIN = Webhook(type="paid", operation="data.id", dedupe="id")
DEEP = Webhook(type="paid", operation="data.id", dedupe="id", type_path="meta.event")


@pytest.mark.parametrize(
    ("contracts", "body", "found"),
    [
        ((contract(PLAIN),), {"type": "refunded"}, "refunded"),
        ((contract(DEEP),), {"meta": {"event": "paid"}, "type": "other"}, "paid"),
        ((contract(DEEP), contract(PLAIN)), {"type": "other"}, "other"),
        ((contract(DEEP),), {"type": "only where messages mostly have it"}, "only where messages mostly have it"),
        ((), {"type": "of no contract"}, "of no contract"),
        ((contract(PLAIN),), {}, None),
        ((), {"meta": {"event": "paid"}}, None),
    ],
)
def test_the_first_place_that_says_one(
    contracts: tuple[Contract, ...], body: dict[str, Any], found: str | None
) -> None:
    assert type_of(contracts, body) == found
