"""What the desk may look up. Reads only: a look-up may run again after a crash."""

import json
from pathlib import Path
from typing import Any

_FILE = Path(__file__).parent / "orders.json"


def read_order(order: str) -> dict[str, Any]:
    """An order: its customer, its item, what was paid in cents. `{"error": ...}` where there is none."""
    return _found("orders", order)


def read_customer(customer: str) -> dict[str, Any]:
    """A customer: name, e-mail address, customer since. `{"error": ...}` where there is none."""
    return _found("customers", customer)


def _found(kind: str, number: str) -> dict[str, Any]:
    known = json.loads(_FILE.read_text())[kind]
    if number not in known:
        return {"error": f"there is no {number} among the {kind}"}
    return {kind.removesuffix("s"): number, **known[number]}
