"""The servers that tests are run against: each starts by itself, on loopback alone, and is gone with whoever started it."""

from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path

import httpx2
import pytest

from tests.servers import apart, localstripe, moto, nats
from tests.servers.kept import Server
from tests.servers.localstripe import LocalStripeServer
from tests.servers.restate import RestateServer

LISTENS = "0A"
SERVERS: dict[str, Callable[[], AbstractContextManager[Server]]] = {
    "localstripe": localstripe.running,
    "moto": moto.running,
    "nats": nats.running,
    "restate": RestateServer,
}


def listening(pids: list[int]) -> set[str]:
    """The addresses at which these processes listen, as the kernel writes them."""
    sockets, found = set[str](), set[str]()
    for link in [link for pid in pids for link in Path(f"/proc/{pid}/fd").iterdir()]:
        with suppress(OSError):  # closed while we look
            sockets.add(link.readlink().name)
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == LISTENS and f"socket:[{fields[9]}]" in sockets:
                found.add(fields[1].partition(":")[0])
    return found


@pytest.mark.parametrize("name", SERVERS)
def test_a_server_listens_on_loopback_alone_and_leaves_nothing(name: str) -> None:
    with SERVERS[name]() as server:
        assert listening(server.kept.pids()) == {"0100007F"}
        assert server.folder.is_dir()
    assert not server.kept.alive
    assert not server.folder.exists()


def test_localstripe_forgets_what_it_held() -> None:
    with LocalStripeServer() as server:
        server.start()
        key = ("sk_test_1", "")
        made = httpx2.post(f"{server.url}/v1/customers", data={"description": "one"}, auth=key)
        assert made.status_code == 200, made.text
        assert httpx2.get(f"{server.url}/v1/customers", auth=key).json()["total_count"] == 1
        server.kill()
        server.start()
        assert httpx2.get(f"{server.url}/v1/customers", auth=key).json()["total_count"] == 0


def test_what_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(apart, "BIN", tmp_path)
    for start, name in (
        (moto.running, "moto_server"),
        (nats.running, "nats-server"),
        (localstripe.running, "localstripe"),
    ):
        with pytest.raises(FileNotFoundError, match=f"{name} is not installed.*No test on it was run"), start():
            pass
