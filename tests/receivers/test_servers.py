"""The servers that tests are run against: each starts by itself, on loopback alone, and is gone with whoever started it."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from counterfoil.model.errors import Refused
from counterfoil.testing.servers import postgres, restate, started
from counterfoil.testing.servers.localstripe import KEY, LocalStripe
from counterfoil.testing.servers.moto import MotoServer
from counterfoil.testing.servers.nats import NatsServer
from counterfoil.testing.servers.postgres import PostgresServer
from counterfoil.testing.servers.restate import RestateServer
from counterfoil.testing.servers.started import Serving, Started
from tests.servers.keeper import tree

LISTENS = "0A"
SERVERS: dict[str, Callable[[Path], Serving]] = {
    "localstripe": lambda _: LocalStripe(),
    "moto_server": lambda _: MotoServer(),
    "nats-server": NatsServer,
    "@restatedev/restate-server": RestateServer,
    "PostgreSQL": lambda _: PostgresServer(),
}
LIFE = """
from counterfoil.testing.servers.moto import MotoServer
print(MotoServer().pid, flush=True)
input()
"""


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
def test_a_server_listens_on_loopback_alone_and_is_gone_when_it_is_closed(name: str, tmp_path: Path) -> None:
    with SERVERS[name](tmp_path) as server:
        pids = tree(server.pid)
        ended = os.pidfd_open(pids[1])
        assert listening(pids) == {"0100007F"}
    gone(ended)


def test_a_server_is_gone_with_a_starter_that_was_killed() -> None:
    life = subprocess.Popen([sys.executable, "-c", LIFE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert life.stdout is not None
    ended = [os.pidfd_open(pid) for pid in tree(int(life.stdout.readline()))]
    assert len(ended) == 2
    life.send_signal(signal.SIGKILL)
    life.communicate()
    for each in ended:
        gone(each)


def gone(pidfd: int) -> None:
    """Returns when that process has ended; the test's own limit is the longest wait."""
    select.select([pidfd], [], [])
    os.close(pidfd)


def test_localstripe_holds_nothing_of_an_earlier_start() -> None:
    for _ in range(2):
        with LocalStripe() as server:
            customers = f"{server.url}/v1/customers"
            assert httpx2.get(customers, auth=(KEY, "")).json()["total_count"] == 0
            assert httpx2.post(customers, data={"description": "one"}, auth=(KEY, "")).status_code == 200
            assert httpx2.get(customers, auth=(KEY, "")).json()["total_count"] == 1


@pytest.mark.parametrize("name", SERVERS)
def test_what_is_not_installed_is_named(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(started, "APART", Path("nothing-here"))
    monkeypatch.setattr(postgres, "APART", Path("nothing-here"))
    monkeypatch.setattr(postgres, "SYSTEM", Path("nothing-here"))
    monkeypatch.setattr(restate, "MACHINES", {os.uname().machine: "no-such-machine"})
    with pytest.raises(Refused, match=name) as refused:
        SERVERS[name](tmp_path)
    assert refused.value.code == "tool_missing"
    assert "nstall it" in refused.value.safe_next + refused.value.message


def test_a_server_that_ends_at_once_says_what_it_printed() -> None:
    with pytest.raises(Refused, match="no port for me"):
        Started("thing", [sys.executable, "-c", "print('no port for me')"]).wait_for("listening")
