"""The refund's payment provider in its test mode, as a drill counts it.

`drill ... --receiver counterfoil.examples.refund.provider:Provider`. The provider is the npm server of the
demo. A provider of yours is asked over HTTP in the same way.
"""

from collections.abc import Mapping
from typing import Any

from counterfoil.testing.loopback.digest import as_object
from counterfoil.testing.servers.stripe_mock import KEY, PaymentProvider

PAID = 4900


class Provider:
    """A DrillReceiver: each case refunds a charge of its own."""

    receiver = "stripe"
    environ = {"STRIPE_KEY": KEY}  # noqa: RUF012 - nobody changes it

    def __init__(self) -> None:
        self._provider = PaymentProvider()
        self._requests: dict[str, str] = {}  # charge -> request number, which the provider is not told
        self.url = self._provider.url

    def prepare(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The next case's input: a payment is made for it."""
        _, charge = self._provider.charge(PAID)
        self._requests[str(charge["id"])] = str(given["request_number"])
        return {**given, "charge": charge["id"]}

    def records(self, reference: str | None) -> list[dict[str, Any]]:
        """The refunds of the charges made here, in the form in which they were approved."""
        return [
            self._record(refund, charge)
            for charge in self._requests
            for refund in self._provider.refunds_of(charge)
            if reference in (None, _operation_of(refund))
        ]

    def close(self) -> None:
        """End the server."""
        self._provider.close()

    def _record(self, refund: Mapping[str, Any], charge: str) -> dict[str, Any]:
        approved = {"request_number": self._requests[charge], "charge": charge, "amount": refund["amount"]}
        return {"id": refund["id"], "reference": _operation_of(refund), "payload": approved, "at": None}


def _operation_of(refund: Mapping[str, Any]) -> str | None:
    operation = as_object(refund.get("metadata")).get("operation")
    return operation if isinstance(operation, str) else None
