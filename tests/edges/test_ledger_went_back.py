"""A ledger on a server that is put back under a worker: the worker ends and says why, and the next one compares."""

import json
import os
import subprocess
import sys
from pathlib import Path

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.case_schema import SchemaLedger
from tests.edges.test_database_roles import APP, counterfoil
from tests.servers.postgres import shared

SECONDS = 90


def worker(folder: Path, url: str) -> subprocess.Popen[str]:
    """At work: it has said that it drives."""
    environment = {
        "COUNTERFOIL_STATE": str(folder / "state"), "COUNTERFOIL_DB": url, "COUNTERFOIL_APP": APP, "CRM_URL": "http://127.0.0.1:9",
        "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
    }  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "counterfoil", "worker", "--json"], cwd=folder, env=os.environ | environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    while "drives the runs" not in (line := process.stderr.readline()):
        assert line, "it ended before it drove"
    return process


def test_a_worker_whose_ledger_is_put_back_ends_and_says_so(tmp_path: Path) -> None:
    with shared().database() as server:
        (tmp_path / "files").mkdir()
        ledger = SchemaLedger.beside(PostgresAddress.of(server), tmp_path / "files")
        url = ledger.db
        counterfoil(tmp_path, url, "init", str(tmp_path), "--app", APP, CRM_URL="http://127.0.0.1:9")
        backup = ledger.back_up()
        process = worker(tmp_path, url)
        try:
            while not counterfoil(tmp_path, url, "workers", "list")["data"]["items"]:
                assert process.poll() is None
            ledger.put_back(backup, whole=False)
            out, err = process.communicate(timeout=SECONDS)
        finally:
            process.kill()
        assert process.returncode == 3, err
        told = json.loads(out)["error"]
        assert (told["code"], "put back" in told["message"]) == ("ledger_went_back", True)
        assert counterfoil(tmp_path, url, "worker", "--until-idle")["data"]["ended_by"] == "idle", "nothing had left"
        backup.remove()
