"""The provider of the refund's stories keeps its keys as the example's contract says; each answer is asked of the real server."""

from collections.abc import Iterator

import httpx2
import pytest

from counterfoil.examples.refund.app import create_refund
from counterfoil.model.contract import Meaning
from counterfoil.model.exchange import Exchange
from counterfoil.rules.classify import classify, replayed
from counterfoil.testing.servers.stripe_mock import KEY, PaymentProvider


@pytest.fixture(scope="module")
def provider() -> Iterator[PaymentProvider]:
    with PaymentProvider() as started:
        yield started


@pytest.fixture
def client(provider: PaymentProvider, request: pytest.FixtureRequest) -> Iterator[httpx2.Client]:
    """A client whose key belongs to this test alone."""
    headers = {"Authorization": f"Bearer {KEY}", "Idempotency-Key": request.node.name}
    with httpx2.Client(base_url=provider.url, headers=headers, trust_env=False, timeout=10) as one:
        yield one


def meaning(reply: httpx2.Response) -> Meaning:
    """What the example's contract makes of an answer."""
    contract = create_refund.contract
    headers = {name.lower(): value for name, value in reply.headers.items()}
    mark = replayed(contract, headers)
    return classify(contract, Exchange("body", True, reply.status_code, headers, reply.content, None, None, mark))


def paid(provider: PaymentProvider) -> str:
    _, charge = provider.charge(4900)
    return str(charge["id"])


def test_the_server_is_reached_from_this_host_only(provider: PaymentProvider) -> None:
    assert provider.url.startswith("http://127.0.0.1:")


def test_the_same_request_is_one_refund(provider: PaymentProvider, client: httpx2.Client) -> None:
    charge = paid(provider)
    first, again = (client.post("/v1/refunds", data={"charge": charge, "amount": "1200"}) for _ in range(2))
    assert first.json()["id"] == again.json()["id"]
    assert again.headers["idempotent-replayed"] == "true"
    assert (meaning(first), meaning(again)) == (Meaning.APPLIED, Meaning.APPLIED)
    assert provider.refunds(charge) == [first.json()["id"]]


def test_another_amount_under_the_key_is_rejected(provider: PaymentProvider, client: httpx2.Client) -> None:
    charge = paid(provider)
    client.post("/v1/refunds", data={"charge": charge, "amount": "1200"})
    other = client.post("/v1/refunds", data={"charge": charge, "amount": "1500"})
    assert meaning(other) is Meaning.KEY_MISMATCH
    assert len(provider.refunds(charge)) == 1


def test_more_than_was_paid_is_refused(provider: PaymentProvider, client: httpx2.Client) -> None:
    assert meaning(client.post("/v1/refunds", data={"charge": paid(provider), "amount": "9999"})) is Meaning.REFUSED


def test_a_saved_500_poisons_its_key(client: httpx2.Client) -> None:
    form = {"amount": "4900", "currency": "eur", "source": "tok_500"}
    first, again = (client.post("/v1/charges", data=form) for _ in range(2))
    assert (first.status_code, again.status_code) == (500, 500)
    assert meaning(first) is Meaning.AMBIGUOUS, "nobody knows what it did"
    assert meaning(again) is Meaning.KEY_POISONED, "and this key will never tell"
