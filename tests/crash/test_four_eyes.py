"""Killed around each of two approvals, and around the send that they authorise: the first is counted once, and is not enough."""

import json
import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from counterfoil.app import App
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.testing.bench import target_of
from counterfoil.testing.children import Child, Children
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash import pair


@pytest.fixture(scope="module")
def bank() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


@pytest.fixture(scope="module")
def forks() -> Iterator[Children]:
    with Children(target_of(pair.app)) as children:
        yield children


@dataclass(frozen=True)
class Place:
    """Where one test's processes live: its folder, and its part of the bank."""

    folder: Path
    bank: SandboxProcess
    forks: Children

    def live(self, crash_at: str | None = None) -> Child:
        """One life of the process, until it ends or is killed where it stands."""
        environ = {"BANK_URL": f"{self.bank.url}/{self.folder.name}", "COUNTERFOIL_STATE": str(self.folder / "state")}
        (self.folder / "db").mkdir(exist_ok=True)
        arguments = {"folder": str(self.folder / "db"), "crash_at": crash_at}
        clean = dict(os.environ) | environ | {"COUNTERFOIL_LEASE_SECONDS": "1"}
        child = self.forks.start("tests.crash.pair:lives", arguments, log=self.folder / "log", environ=clean)
        child.wait()
        return child

    def payments(self) -> int:
        """How many the bank itself has written down."""
        found = [json.loads(line) for line in self.bank.records_file.read_text().splitlines()]
        return sum(record["path"].startswith(f"/{self.folder.name}/") for record in found)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("boundary", "approved"),
    [("review.opened", 0), ("review.answered#1", 1), ("review.answered#2", 2), ("operation.in_flight", 2)],
)
def test_killed_around(
    tmp_path: Path,
    bank: SandboxProcess,
    forks: Children,
    monkeypatch: pytest.MonkeyPatch,
    boundary: str,
    approved: int,
    when: str,
) -> None:
    here = Place(tmp_path, bank, forks)
    killed = here.live(f"{when}:{boundary}")
    assert killed.exit_signal == signal.SIGKILL, killed.wrote()
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    app = App("reader", db=str(tmp_path / "db" / "pair.db"))
    with app.open().read() as reader:
        answers, attempts = list(reader.rows(AnswerRecord)), list(reader.rows(AttemptRecord))
        states = [review.state.value for review in reader.rows(ReviewRecord)]
    counted = approved - (when == "before" and boundary.startswith("review.answered"))
    assert len(answers) == counted, "state before or state after"
    assert "approved" not in states or counted == 2
    assert len(attempts) == (boundary == "operation.in_flight" and when == "after")
    assert here.payments() == 0
    app.close()
    ended = here.live()
    assert ended.exit_code == 0, ended.wrote()
    with app.open().read() as reader:
        people = [answer.person for answer in reader.rows(AnswerRecord) if answer.matched == "now"]
        assert all(answer.signature for answer in reader.rows(AnswerRecord))
    assert (people, here.payments()) == (["ana", "oscar"], 1)
    assert app.verify()["sound"]
    app.close()
