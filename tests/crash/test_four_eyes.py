"""Killed around each of two approvals, and around the send that they authorise: the first is counted once, and is not enough."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.app import App
from counterfoil.model.operation import AttemptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.testing.sandbox.process import SandboxProcess

LIVES = 60  # seconds that one life may take


@pytest.fixture
def bank() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


def live(folder: Path, bank: SandboxProcess, crash_at: str = "") -> int:
    """One life of the process, until it ends or kills itself."""
    environment = {
        **os.environ, "BANK_URL": bank.url, "COUNTERFOIL_STATE": str(folder / "state"), "COUNTERFOIL_CRASH_AT": crash_at,
        "COUNTERFOIL_LEASE_SECONDS": "1",
    }  # fmt: skip
    (folder / "db").mkdir(exist_ok=True)
    command = [sys.executable, "-m", "tests.crash.pair", str(folder / "db")]
    ended = subprocess.run(command, env=environment, capture_output=True, timeout=LIVES, check=False)
    assert ended.returncode in (0, -signal.SIGKILL), ended.stderr.decode()
    return ended.returncode


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(
    ("boundary", "approved"),
    [("review.opened", 0), ("review.answered#1", 1), ("review.answered#2", 2), ("operation.in_flight", 2)],
)
def test_killed_around(
    tmp_path: Path, bank: SandboxProcess, monkeypatch: pytest.MonkeyPatch, boundary: str, approved: int, when: str
) -> None:
    assert live(tmp_path, bank, f"{when}:{boundary}") == -signal.SIGKILL
    monkeypatch.setenv("COUNTERFOIL_STATE", str(tmp_path / "state"))
    app = App("reader", db=str(tmp_path / "db" / "pair.db"))
    with app.open().read() as reader:
        answers, attempts = list(reader.rows(AnswerRecord)), list(reader.rows(AttemptRecord))
        states = [review.state.value for review in reader.rows(ReviewRecord)]
    counted = approved - (when == "before" and boundary.startswith("review.answered"))
    assert len(answers) == counted, "state before or state after"
    assert "approved" not in states or counted == 2
    assert len(attempts) == (boundary == "operation.in_flight" and when == "after")
    assert bank.records() == []
    app.close()
    assert live(tmp_path, bank) == 0
    with app.open().read() as reader:
        people = [answer.person for answer in reader.rows(AnswerRecord) if answer.matched == "now"]
        assert all(answer.signature for answer in reader.rows(AnswerRecord))
    assert (people, len(bank.records())) == (["ana", "oscar"], 1)
    assert app.verify()["sound"]
    app.close()
