"""One fork server and one receiver of each kind for all tests of a process; a part of each receiver for each test."""

import os
import socket
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from counterfoil.app.located import OnServer
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.case_ledger import CaseLedger, MakeLedger, files, ledgers_at
from counterfoil.testing.children import Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.backends import BACKENDS, COLLECTED, backends_of, counted
from tests.crash.stage import Stage
from tests.crash.turns import Room
from tests.servers.postgres import shared

KINDS = ("key", "lookup", "none")
_cases = count(1)


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    with Children("tests.crash.story:app") as forked:
        yield forked


@pytest.fixture(scope="session")
def receivers() -> Iterator[dict[str, SandboxProcess]]:
    started = {kind: SandboxProcess(kind) for kind in KINDS}
    yield started
    for process in started.values():
        process.close()


@pytest.fixture(scope="session")
def servers() -> Iterator[Children]:
    with Children("tests.crash.desk:app") as forked:
        yield forked


@pytest.fixture(scope="session")
def forks() -> Iterator[Children]:
    """Of the agents whose tools say what they are. Their MCP server has one address for all tests: a toolset keeps it."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        os.environ["MCP_URL"] = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    with Children("tests.crash.tools:app") as forked:
        yield forked
    del os.environ["MCP_URL"]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Whatever needs a ledger is played on each backend, or has its reason (backends.py)."""
    if "ledgers" in metafunc.fixturenames:
        metafunc.parametrize("ledgers", backends_of(metafunc.definition.path.stem), indirect=True)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    config.stash[COLLECTED] = counted(items)


@pytest.fixture
def ledgers(request: pytest.FixtureRequest) -> Iterator[MakeLedger]:
    """Ledgers of one backend: files, or schemas of one database of this process's server."""
    if request.param == BACKENDS[0]:
        yield files
        return
    url: str = request.getfixturevalue("server_url")
    make, made = ledgers_at(OnServer(PostgresAddress.of(url))), list[CaseLedger]()

    def making(folder: Path) -> CaseLedger:
        made.append(make(folder))
        return made[-1]

    yield making
    for ledger in made:
        ledger.remove()


@pytest.fixture(scope="session")
def server_url() -> Iterator[str]:
    with shared().database() as url:
        yield url


@pytest.fixture
def room(
    tmp_path: Path,
    servers: Children,
    receivers: dict[str, SandboxProcess],
    ledgers: MakeLedger,
    monkeypatch: pytest.MonkeyPatch,
) -> Room:
    """Where an agent's turns happen. No receiver loses a reply."""
    for process in receivers.values():
        process.post("fault", {"fault": None})
    made = Room(tmp_path, f"case{next(_cases)}", servers, receivers, ledgers)
    for name, value in made.environ().items():
        monkeypatch.setenv(name, value)
    return made


@pytest.fixture
def stage(
    tmp_path: Path, children: Children, receivers: dict[str, SandboxProcess], ledgers: MakeLedger
) -> Iterator[Stage]:
    """`lookup` and `none` lose their first reply."""
    for process in receivers.values():
        process.post("fault", {"fault": None})
    receivers["lookup"].fault("drop-reply")
    receivers["none"].fault("drop-reply")
    made = Stage(tmp_path, f"case{next(_cases)}", children, receivers, ledgers)
    yield made
    for child in made.started:
        if child.status is None:
            child.kill()
    made.clock.close()
