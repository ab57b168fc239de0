"""An application before stripe-stateful-mock, which is reached through our proxy."""

from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.engine.port import Ask, Call
from counterfoil.model.contract import Found, Seen
from counterfoil.model.receipt import Receipt
from counterfoil.receivers.catalogue import contract
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.servers.stripe_mock import KEY, PaymentProvider
from tests.engine.house import House, Order
from tests.traps.stage import Stage

CHARGES, REFUNDS = "/v1/charges", "/v1/refunds"
PAID = 4900


class AtMock(Stage):
    """An application before the server, which is reached through our proxy. `form`: what each try sends, in order."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, provider: PaymentProvider) -> None:
        self.provider = provider
        self.proxy = ProxyProcess(provider.url)
        self.house = House(folder, monkeypatch, self.proxy.url)
        monkeypatch.setenv("TRAP_TOKEN", KEY)
        self.monkeypatch, self.webhook, self.business_key = monkeypatch, None, "number"

    def begin(self, path: str, *forms: dict[str, Any], asks: bool = False) -> "AtMock":
        """One operation that writes to `path`; the last form is sent by every later try. `asks`: with its lookup."""
        self.contract = contract("stripe_v1", find=finding(path) if asks else None)
        tool = writing(path, list(forms))
        self.workflow = self.register(self.house.app, {}, repeatable=False, operations=[tool])
        self.house.found()
        return self

    def advance(self, seconds: float) -> None:
        self.house.clock.advance(seconds)

    def requests(self) -> list[dict[str, Any]]:
        return self.proxy.get("requests")["items"]  # type: ignore[return-value]

    def at(self, path: str) -> list[dict[str, Any]]:
        """What the server itself shows."""
        shown = httpx2.get(self.provider.url + path, params={"limit": 100}, headers={"authorization": f"Bearer {KEY}"})
        return [each for each in shown.json()["data"] if each["metadata"].get("operation")]

    def close(self) -> None:
        self.house.app.close()
        self.proxy.close()


def writing(path: str, forms: list[dict[str, Any]]) -> Any:
    async def write(call: Call, order: Order) -> Receipt:
        form = forms.pop(0) if len(forms) > 1 else forms[0]
        return Receipt(reference=(await call.http.post(path, data=form)).json()["id"])

    return write


def finding(path: str) -> Any:
    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        page = (await ask.http.get(path, params={"limit": 100})).json()
        ours = [each for each in page["data"] if each["metadata"].get("operation") == ask.operation_id]
        return Seen([Found(Receipt(reference=each["id"])) for each in ours], complete=not page["has_more"])

    return find


def charge_of(mock: AtMock) -> str:
    """A payment that can be given back."""
    return mock.provider.charge(PAID)[1]["id"]
