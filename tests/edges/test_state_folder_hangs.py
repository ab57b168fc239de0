"""A state folder on a file system that hangs: a worker goes on showing that it lives, and ends when it is told to."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.edges.test_database_roles import APP, counterfoil
from tests.edges.test_ledger_went_back import worker
from tests.servers.postgres import shared

SECONDS = 90  # its drain, and the patience with the folder


@pytest.fixture
def at_work(tmp_path: Path) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    with shared().database() as url:
        counterfoil(tmp_path, url, "init", str(tmp_path), "--app", APP, CRM_URL="http://127.0.0.1:9")
        process = worker(tmp_path, url)
        yield url, process
        process.kill()
        process.communicate()


def hang(state: Path) -> None:
    """The marker is there, and whoever opens it never comes back: so does a file of a server that is gone."""
    (marker,) = state.glob("inst_*.json")
    os.mkfifo(state / "pipe")
    (state / "pipe").replace(marker)


def seen(url: str) -> int:
    with psycopg.connect(url) as connection:
        found = connection.execute("SELECT max(seen_at) FROM workers").fetchone()
    assert found is not None
    return found[0]


def test_a_worker_beats_and_drains_though_its_state_folder_hangs(
    tmp_path: Path, at_work: tuple[str, "subprocess.Popen[str]"]
) -> None:
    url, process = at_work
    hang(tmp_path / "state")
    for _ in range(3):  # the first may be one that was under way
        before = seen(url)
        while seen(url) == before:
            assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, err
    with psycopg.connect(url) as connection:
        (row,) = connection.execute("SELECT stopped_at IS NOT NULL FROM workers").fetchall()
    assert row == (True,), "it has said that it ended"
