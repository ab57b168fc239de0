"""The ledger beside other engines: three drills each, and the receiver's count."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.testing.children import Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.architecture.source import ROOT
from tests.edges.adapters.drilled import DRILLS, drilled

ADAPTERS = ("pydantic_ai", "langgraph", "openai_agents", "dbos")


@pytest.fixture(scope="module")
def bank() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@pytest.fixture(scope="module", params=ADAPTERS)
def adapter(request: pytest.FixtureRequest) -> Iterator[tuple[str, Children]]:
    with Children(f"tests.edges.adapters.with_{request.param}:app") as children:
        yield request.param, children


@pytest.mark.timeout(90)
@pytest.mark.parametrize("drill", DRILLS)
def test_one_record_whatever_happens(
    adapter: tuple[str, Children], drill: str, bank: SandboxProcess, tmp_path: Path
) -> None:
    name, children = adapter
    row = drilled(tmp_path / "stage", name, drill, children, bank)
    print(row)
    assert (
        f"| {row.adapter} | {row.drill} | {row.records} | {row.verdict} |" in (ROOT / "docs" / "beside.md").read_text()
    )
