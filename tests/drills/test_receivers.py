"""A receiver of the user's own behind our proxy: what is counted, by whom, and what cannot be asked of it."""

import sys
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from counterfoil.drills.receivers import (
    BY_ADAPTER,
    BY_PROXY,
    NEEDS,
    DrillReceiver,
    Forwarded,
    OwnReceiver,
    accepted,
    adapter_of,
    stands_for,
)
from counterfoil.examples.refund.provider import Provider
from counterfoil.model.errors import Refused
from counterfoil.testing.loopback.digest import digest_of
from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.sandbox.process import SandboxProcess

GIVEN = {"request_number": "R-1", "charge": "ch_0", "letter": "please"}


class Shop:
    """An adapter of the smallest kind, before a sandbox that stands in for somebody's test account."""

    def __init__(self, sandbox: SandboxProcess) -> None:
        self._sandbox = sandbox
        self.url = sandbox.url

    def records(self, reference: str | None) -> list[dict[str, Any]]:
        return [each for each in self._sandbox.records() if reference in (None, each["reference"])]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


def post(url: str, path: str, *, key: str | None = None, reference: str | None = None, **body: Any) -> httpx2.Response:
    headers = {"Idempotency-Key": key, "Counterfoil-Operation": reference}
    with httpx2.Client(timeout=5, verify=False) as client:
        return client.post(url + path, json=body, headers={name: value for name, value in headers.items() if value})


def test_the_adapter_counts_what_came_into_being(sandbox: SandboxProcess) -> None:
    post(sandbox.url, "/orders", key="earlier", reference="op_earlier", item="lamp")
    with OwnReceiver(Shop(sandbox)) as own:
        part = own.part()
        assert part.records() == [] and part.writes() == []
        post(part.url, "/orders", key="k1", reference="op_1", item="chair")
        post(part.url, "/orders", item="unledgered")
        assert [each["reference"] for each in part.records()] == ["op_1", None]
        assert part.records()[0]["payload_digest"] == digest_of({"item": "chair"})
        assert [(each["key"], each["reference"]) for each in part.writes()] == [("k1", "op_1"), (None, None)]
        assert own.part().records() == [] and own.part().writes() == []
        assert own.counted == BY_ADAPTER


def test_a_record_is_found_by_reference_where_the_newest_do_not_show_it(sandbox: SandboxProcess) -> None:
    class Newest(Shop):
        def records(self, reference: str | None) -> list[dict[str, Any]]:
            return super().records(reference)[:1] if reference is None else super().records(reference)

    with OwnReceiver(Newest(sandbox)) as own:
        part = own.part()
        post(part.url, "/deep", key="k-deep", reference="op_deep", item="desk")
        assert [each["reference"] for each in part.records()] == ["op_deep"]


def test_the_proxy_loses_an_answer_and_the_record_is_counted(sandbox: SandboxProcess) -> None:
    with OwnReceiver(Shop(sandbox)) as own:
        part = own.part()
        part.fault("drop-reply")
        with pytest.raises(httpx2.RemoteProtocolError):
            post(part.url, "/lost", key="k2", reference="op_2", item="chair")
        assert len(part.records()) == 1
        part.fault("refuse", status=409, body={"error": "later"})
        assert post(part.url, "/lost", key="k3", item="chair").json() == {"error": "later"}
        assert len(part.writes()) == 1, "what was refused here was not forwarded"
        part.fault("hang", count=5)
        part.quiet()
        assert own.proxy.get("")["faults"] == []


def test_without_an_adapter_accepted_writes_are_counted(sandbox: SandboxProcess) -> None:
    with OwnReceiver(Forwarded(sandbox.url)) as own:
        part = own.part()
        for _ in range(2):
            assert post(part.url, "/bills", key="b1", reference="op_b", item="chair").status_code == 201
        post(part.url, "/bills", item="twice")
        post(part.url, "/bills", item="twice")
        assert [each["key"] for each in part.records()] == ["b1", None, None]
        assert len({each["id"] for each in part.records()}) == 3
        assert own.counted == BY_PROXY


def test_one_key_with_two_ids_is_two_records() -> None:
    told = {"path": "/x", "key": "k", "replayed": False, "n": 1, "status": 201, "record_id": "a"}
    assert len(accepted([told, told | {"n": 2}])) == 1
    assert len(accepted([told, told | {"n": 2, "record_id": "b"}])) == 2
    assert len(accepted([told | {"record_id": None}, told | {"n": 2, "record_id": None}])) == 1
    assert (
        len(accepted([told | {"record_id": None, "key": None}, told | {"n": 2, "record_id": None, "key": None}])) == 2
    )
    assert accepted([told | {"status": 500}, told | {"replayed": True}]) == []


def test_a_fault_that_it_cannot_play_is_not_applicable(sandbox: SandboxProcess) -> None:
    class Able(Shop):
        forgot = 0
        lagged = 0.0

        def forget_keys(self) -> None:
            self.forgot += 1

        def lag(self, seconds: float) -> None:
            self.lagged = seconds

    able = Able(sandbox)
    with OwnReceiver(Shop(sandbox)) as own, OwnReceiver(able) as better:
        assert all(own.lacks(fault) for fault in NEEDS)
        assert own.lacks("drop-reply") is None
        assert better.lacks("key-store-lost") is None and better.lacks("lookup-lags") is None
        assert better.lacks("key-window-over") is not None
        better.part().post("forget-keys")
        better.part().post("lookup-lag", {"seconds": 3.0})
        better.part().post("clock", {"advance_seconds": 3.0})
        assert (able.forgot, able.lagged) == (1, 3.0)


def test_other_key_headers_are_read(sandbox: SandboxProcess) -> None:
    with OwnReceiver(Forwarded(sandbox.url), key_header="X-Once") as own, httpx2.Client(verify=False) as client:
        part = own.part()
        client.post(part.url + "/x", json={}, headers={"X-Once": "k9"})
        assert [each["key"] for each in part.writes()] == ["k9"]


def test_whose_place_it_takes(sandbox: SandboxProcess) -> None:
    class Named(Shop):
        receiver = "crm"

    assert stands_for(Named(sandbox), ["shop", "crm"]) == "crm"
    assert stands_for(Shop(sandbox), ["shop"]) == "shop"
    for adapter, known in ((Named(sandbox), ["shop"]), (Shop(sandbox), ["shop", "crm"])):
        with pytest.raises(Refused) as refused:
            stands_for(adapter, known)
        assert refused.value.code == "usage"


def test_an_adapter_is_found_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    class Fixed:
        url = "http://127.0.0.1:1"

        def records(self, reference: str | None) -> list[dict[str, Any]]:
            return []

    made = type(sys)("adapters_of_a_test")
    monkeypatch.setitem(sys.modules, "adapters_of_a_test", made)
    made.__dict__.update(Fixed=Fixed, ready=Fixed(), wrong=object())
    assert isinstance(adapter_of("adapters_of_a_test:Fixed"), DrillReceiver)
    assert adapter_of("adapters_of_a_test:ready") is made.__dict__["ready"]
    for text in ("adapters_of_a_test:wrong", "adapters_of_a_test:missing", "no_such_module_here:X", "plain"):
        with pytest.raises(Refused):
            adapter_of(text)


def test_an_address_that_is_none() -> None:
    with pytest.raises(LoopbackFailed):
        OwnReceiver(Forwarded("ftp://nowhere"))


def test_the_payment_provider_in_its_test_mode() -> None:
    """A second receiver, written by others, in a process of its own."""
    with OwnReceiver(Provider()) as own, httpx2.Client(verify=False) as client:
        given = own.prepared(GIVEN)
        part = own.part()
        form = {"charge": given["charge"], "amount": 1200, "metadata[operation]": "op_9"}
        headers = {"Authorization": "Bearer sk_test_counterfoil", "Idempotency-Key": "k"}
        part.fault("drop-reply")
        with pytest.raises(httpx2.RemoteProtocolError):
            client.post(part.url + "/v1/refunds", data=form, headers=headers)
        assert client.post(part.url + "/v1/refunds", data=form, headers=headers).status_code == 200
        (record,) = part.records()
        approved = {"request_number": "R-1", "charge": given["charge"], "amount": 1200}
        assert (record["reference"], record["payload_digest"]) == ("op_9", digest_of(approved))
        assert [each["reference"] for each in part.writes()] == ["op_9", "op_9"]
        again = own.part()
        client.post(part.url + "/v1/refunds", data=form, headers=headers | {"Idempotency-Key": "other"})
        assert len(again.records()) == 1 and len(part.records()) == 2
