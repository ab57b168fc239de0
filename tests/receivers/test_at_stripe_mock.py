"""What stripe-stateful-mock saves under a key, through the ledger: answers, errors, other parameters. What it holds decides.

It works on one request at a time and forgets no key, so it shows no key in progress and no window's end: the sandbox does.
"""

from collections.abc import Iterator
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
        self.contract = contract("stripe_v1", find=_finding(path) if asks else None)
        tool = _writing(path, list(forms))
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


def _writing(path: str, forms: list[dict[str, Any]]) -> Any:
    async def write(call: Call, order: Order) -> Receipt:
        form = forms.pop(0) if len(forms) > 1 else forms[0]
        return Receipt(reference=(await call.http.post(path, data=form)).json()["id"])

    return write


def _finding(path: str) -> Any:
    async def find(ask: Ask, order: Order) -> Seen[Receipt]:
        page = (await ask.http.get(path, params={"limit": 100})).json()
        ours = [each for each in page["data"] if each["metadata"].get("operation") == ask.operation_id]
        return Seen([Found(Receipt(reference=each["id"])) for each in ours], complete=not page["has_more"])

    return find


@pytest.fixture
def mock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AtMock]:
    with PaymentProvider() as provider:
        made = AtMock(tmp_path, monkeypatch, provider)
        yield made
        made.close()


def charge_of(mock: AtMock) -> str:
    return mock.provider.charge(PAID)[1]["id"]


def card(source: str) -> dict[str, Any]:
    return {"amount": PAID, "currency": "eur", "source": source}


def test_a_saved_success_is_replayed_with_its_mark_and_is_no_second_refund(mock: AtMock) -> None:
    mock.begin(REFUNDS, {"charge": charge_of(mock), "amount": 100}).proxy.fault("drop-reply")
    assert mock.told() == ["completed"]
    (held,) = mock.at(REFUNDS)
    first, second = mock.requests()
    assert first["key"] == second["key"] == mock.attempts()[0].idempotency_key
    (receipt,) = mock.receipts()
    assert (receipt.reference, receipt.how, receipt.proves) == (held["id"], "reply", "current_state")


@pytest.mark.parametrize(
    ("path", "source", "status"), [(CHARGES, "tok_chargeDeclined", 402), (REFUNDS, "", 400)], ids=["402", "400"]
)
def test_a_saved_refusal_that_is_replayed_closes_the_try_whose_answer_was_lost(
    mock: AtMock, path: str, source: str, status: int
) -> None:
    form = card(source) if source else {"charge": charge_of(mock), "amount": PAID + 1}
    mock.begin(path, form).proxy.fault("drop-reply")
    assert mock.told() == ["step_failed"]
    assert mock.operation().status.value == "failed"
    assert [(each.answer_class, each.answer_status) for each in mock.attempts()] == [
        ("ambiguous", None),
        ("refused", status),
    ]
    assert [each for each in mock.at(path) if each.get("paid", True)] == []


def test_a_saved_500_is_all_that_its_key_ever_says_so_it_is_repeated_once_and_never_again(mock: AtMock) -> None:
    mock.begin(CHARGES, card("tok_500")).proxy.fault("drop-reply")
    assert mock.told() == ["outcome_unknown"]
    assert [each.answer_class for each in mock.attempts()] == ["ambiguous", "key_poisoned"]
    assert len(mock.requests()) == 2 and mock.at(CHARGES) == []


def test_a_500_that_arrives_is_kept_under_the_key_so_nothing_is_repeated(mock: AtMock) -> None:
    mock.begin(CHARGES, card("tok_500"))
    assert mock.told() == ["outcome_unknown"]
    assert len(mock.requests()) == 1 and mock.at(CHARGES) == []


def test_a_429_is_not_saved_and_its_key_is_good_for_the_next_try(mock: AtMock) -> None:
    mock.begin(CHARGES, card("tok_429"), card("tok_visa"))
    assert mock.told() == ["completed"]
    assert len(mock.at(CHARGES)) == 1
    assert [each.answer_class for each in mock.attempts()] == ["not_applied", "applied"]
    assert len({each["key"] for each in mock.requests()}) == 1


def test_other_parameters_under_the_same_key_are_rejected_and_the_first_ones_are_found(mock: AtMock) -> None:
    """A deployment between two tries writes another amount: the server refuses it under the key, and it is asked."""
    charge = charge_of(mock)
    mock.begin(REFUNDS, {"charge": charge, "amount": 100}, {"charge": charge, "amount": 200}, asks=True)
    mock.proxy.post("blind", {"on": True})
    mock.proxy.fault("drop-reply")
    assert mock.told(within=60) == ["waiting"]
    mock.proxy.post("blind", {"on": False})
    assert mock.told() == ["completed"]
    assert [each["amount"] for each in mock.at(REFUNDS)] == [100]
    assert [each.answer_class for each in mock.attempts()] == ["ambiguous", "key_mismatch"]
    assert [each.how for each in mock.receipts()] == ["lookup"]


def test_a_key_is_narrowed_by_the_path_so_another_endpoint_acts_under_it(mock: AtMock) -> None:
    """Why a key belongs to one operation: the same key at two places has two effects, and the ledger never does that."""
    charge = charge_of(mock)
    head = {"authorization": f"Bearer {KEY}", "idempotency-key": "one"}
    mark = {"metadata[operation]": "by hand"}
    for path, form in ((CHARGES, card("tok_visa")), (REFUNDS, {"charge": charge, "amount": 100})):
        for _ in range(2):
            assert httpx2.post(mock.provider.url + path, data={**form, **mark}, headers=head).status_code == 200
    assert (len(mock.at(CHARGES)), len(mock.at(REFUNDS))) == (1, 1)
    mock.begin(REFUNDS, {"charge": charge, "amount": 100})
    assert mock.told("first", number="1") == mock.told("second", number="2") == ["completed"]
    assert len({each["key"] for each in mock.requests()}) == 2 and len(mock.at(REFUNDS)) == 3
