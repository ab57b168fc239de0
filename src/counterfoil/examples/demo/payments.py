"""The payment provider of the refund's stories, behind our proxy."""

from types import TracebackType
from typing import Any, Self

from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.stripe_mock import PaymentProvider


class ProviderReceiver:
    """The provider behind our proxy, seen from one charge. Requests are those of this story."""

    @property
    def environment(self) -> dict[str, str]:
        """Its url says all."""
        return {}

    def __init__(self, provider: PaymentProvider, charge: str, *, fault: str | None = None) -> None:
        self._provider, self._charge = provider, charge
        self._proxy = ProxyProcess(provider.url, fault=fault)
        self.url = self._proxy.url

    def witness(self) -> dict[str, Any]:
        """By the provider's list of the charge's refunds."""
        ids = self._provider.refunds(self._charge)
        requests = self._proxy.get("")["requests"]
        return {"records": len(ids), "record_ids": ids, "requests": requests, "records_file": None}

    def close(self) -> int:
        """End the proxy."""
        return self._proxy.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
