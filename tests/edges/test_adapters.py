"""The ledger beside other engines: three drills each, and the receiver's count."""

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from counterfoil.testing.children import Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.architecture.source import ROOT
from tests.edges.adapters.drilled import DRILLS, drilled
from tests.servers.restate import RestateServer

ADAPTERS = ("pydantic_ai", "langgraph", "openai_agents", "dbos", "restate")


@pytest.fixture(scope="module")
def bank() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@dataclass(frozen=True)
class Host:
    """An adapter, the processes that run it, and what they know of its engine's server."""

    adapter: str
    children: Children
    known: dict[str, Any]


@pytest.fixture(scope="module", params=ADAPTERS)
def host(request: pytest.FixtureRequest) -> Iterator[Host]:
    with ExitStack() as stack:
        children = stack.enter_context(Children(f"tests.edges.adapters.with_{request.param}:app"))
        known: dict[str, Any] = {}
        if request.param == "restate":
            server = stack.enter_context(RestateServer())
            known = {"ingress": server.ingress, "admin": server.admin}
        yield Host(request.param, children, known)


@pytest.mark.timeout(90)
@pytest.mark.parametrize("drill", DRILLS)
def test_one_record_whatever_happens(host: Host, drill: str, bank: SandboxProcess, tmp_path: Path) -> None:
    row = drilled(tmp_path / "stage", host.adapter, drill, host.children, bank, host.known)
    print(row)
    assert (
        f"| {row.adapter} | {row.drill} | {row.records} | {row.verdict} |" in (ROOT / "docs" / "beside.md").read_text()
    )
