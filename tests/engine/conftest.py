"""One house per test; one sandbox of each kind per module."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.engine.house import House
from tests.engine.talks import agent


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[House]:
    made = House(tmp_path, monkeypatch)
    yield made
    made.app.close()


@pytest.fixture
def talking(house: House) -> House:
    """With two agents that need no model."""
    agent(house.app)
    agent(house.app, "complaints")
    house.found()
    return house


@pytest.fixture
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@pytest.fixture
def house_with_crm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, crm: SandboxProcess) -> Iterator[House]:
    made = House(tmp_path, monkeypatch, crm.url)
    yield made
    made.app.close()


@pytest.fixture
def blind_crm() -> Iterator[SandboxProcess]:
    """A receiver with neither key nor lookup: after a doubt only a person can tell."""
    with SandboxProcess("none") as process:
        yield process


@pytest.fixture
def blind_house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blind_crm: SandboxProcess) -> Iterator[House]:
    made = House(tmp_path, monkeypatch, blind_crm.url)
    yield made
    made.app.close()
