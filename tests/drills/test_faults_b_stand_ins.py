"""What the stand-ins lend to the drills: a request on its way, a refusal of the contract's own words, a lookup that lags."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import httpx2
import pytest

from counterfoil.testing.clock import SharedClock
from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.proxy import ProxyProcess
from counterfoil.testing.sandbox import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess

HEAD = {"Idempotency-Key": "k-1", "Counterfoil-Operation": "op_1"}


@pytest.fixture
def clock(tmp_path: Path) -> Iterator[SharedClock]:
    shared = SharedClock(tmp_path / "clock")
    yield shared
    shared.close()


def posted(url: str, **head: str) -> httpx2.Response:
    with httpx2.Client(base_url=url, headers={**HEAD, **head}, timeout=20, verify=False) as client:
        return client.post("/cases", json={"amount": 5})


def behind(url: str) -> tuple[threading.Thread, list[int]]:
    """A write that somebody makes meanwhile; its status when it has one."""
    told: list[int] = []
    thread = threading.Thread(target=lambda: told.append(posted(url).status_code))
    thread.start()
    return thread, told


def test_a_queued_request_has_come_and_has_had_no_effect() -> None:
    with SandboxProcess("key") as crm:
        crm.fault("queued")
        thread, told = behind(crm.url)
        crm.wait_arrived(1)
        assert crm.records() == [] and crm.requests() == []
        assert posted(crm.url).status_code == 201, "a later one overtakes it"
        crm.release()
        thread.join(20)
        assert told == [201] and len(crm.records()) == 1
        assert [(line["fault"], line["replayed"]) for line in crm.requests()] == [(None, False), ("queued", True)]
        crm.fault("queued")
        thread, told = behind(crm.url)
        crm.wait_arrived(3)
        assert told == [] and len(crm.requests()) == 2, "armed anew, it holds anew"
        crm.release()
        thread.join(20)


def test_a_queued_request_without_a_key_is_a_second_effect() -> None:
    with SandboxProcess("lookup") as crm:
        crm.fault("queued")
        thread, _ = behind(crm.url)
        crm.wait_arrived(1)
        posted(crm.url)
        crm.release()
        thread.join(20)
        assert len(crm.records()) == 2


def test_the_proxy_queues_before_it_forwards() -> None:
    with SandboxProcess("key") as crm, ProxyProcess(crm.url) as proxy:
        proxy.fault("queued")
        thread, told = behind(proxy.url)
        proxy.wait_arrived(1)
        assert crm.requests() == []
        proxy.release()
        thread.join(20)
        assert told == [201] and len(crm.records()) == 1


@pytest.mark.parametrize("through", [False, True])
def test_a_refusal_is_worded_as_it_was_armed(through: bool) -> None:
    with SandboxProcess("key") as crm, ProxyProcess(crm.url) as proxy:
        first = proxy if through else crm
        first.fault("refuse", status=402, body={"error": {"type": "card_error"}})
        refused = posted(first.url)
        assert (refused.status_code, refused.json()) == (402, {"error": {"type": "card_error"}})
        assert crm.records() == []
        with pytest.raises(LoopbackFailed, match="200 to 599"):
            first.fault("refuse", status=99)


def test_a_lookup_that_lags_follows_a_shared_clock(tmp_path: Path, clock: SharedClock) -> None:
    with SandboxProcess("lookup") as crm:
        with pytest.raises(LoopbackFailed, match="there is no clock"):
            crm.follow(tmp_path / "none")
        crm.follow(tmp_path / "clock")
        crm.lag(30)
        posted(crm.url)
        asked = {"base_url": crm.url, "verify": False, "timeout": 5}
        with httpx2.Client(**asked) as client:
            assert client.get("/cases", params={"reference": "op_1"}).json()["data"] == []
            clock.advance(timedelta(seconds=31))
            assert len(client.get("/cases", params={"reference": "op_1"}).json()["data"]) == 1
        assert [line["hidden"] for line in crm.lookups()] == [1, 0]
        with pytest.raises(LoopbackFailed, match="0 seconds or more"):
            crm.lag(-1)


def test_a_key_window_ends_on_a_shared_clock(tmp_path: Path, clock: SharedClock) -> None:
    with SandboxProcess(SandboxContract(key_window_seconds=60), clock=tmp_path / "clock") as crm:
        posted(crm.url)
        posted(crm.url)
        assert len(crm.records()) == 1
        clock.advance(timedelta(seconds=61))
        posted(crm.url)
        assert len(crm.records()) == 2
