"""An application whose ledger is on PostgreSQL, by the command line: made, used, examined, checked; its password is never shown."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.servers.postgres import shared


@pytest.fixture
def url() -> Iterator[str]:
    with shared().database() as url:
        yield url


def counterfoil(folder: Path, url: str, *words: str, status: int = 0) -> dict[str, Any]:
    environment = os.environ | {"COUNTERFOIL_STATE": str(folder / "state"), "COUNTERFOIL_DB": url}
    ended = subprocess.run(
        [sys.executable, "-m", "counterfoil", *words, "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    assert shared().secret not in ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def test_a_ledger_is_made_used_and_examined(tmp_path: Path, url: str) -> None:
    made = counterfoil(tmp_path, url, "init", str(tmp_path / "here"))["data"]
    assert made["database"].startswith("postgresql://counterfoil:***@")
    here = tmp_path / "here"
    assert counterfoil(here, url, "init", str(tmp_path / "again"), status=3)["error"]["code"] == "already_initialised"
    (here / "order.json").write_text('{"order_number": "4711", "article": "chair", "amount": 120}')
    (here / "state").symlink_to(tmp_path / "state")
    examined = counterfoil(here, url, "doctor")["data"]
    assert (examined["storage"]["backend"], examined["storage"]["synchronous"], examined["storage"]["replicas"]) == (
        "postgres",
        "on",
        0,
    )
    survives = {promise["failure"]: promise["survives"] for promise in examined["promises"]}
    assert (survives["machine_lost"], survives["power_lost"], survives["backup_restored"]) == ("no", "yes", "if")
    assert all(
        "fsync=on" in p["evidence"] for p in examined["promises"] if p["failure"] in {"machine_lost", "power_lost"}
    )
    assert {check["code"] for check in examined["checks"]} >= {
        "synchronous",
        "synchronous_commit",
        "standbys",
        "server_clock",
        "marker",
    }
    verified = counterfoil(here, url, "verify")["data"]
    assert (verified["chains"], verified["broken"], verified["differences"]) == (1, [], [])


def test_what_is_somebody_elses_is_not_touched(tmp_path: Path, url: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("CREATE TABLE invoices (id bigint)")
    assert counterfoil(tmp_path, url, "runs", "list", status=3)["error"]["code"] == "not_ours"
    beside = f"{url}?schema=ledger"
    assert counterfoil(tmp_path, beside, "runs", "list", status=4)["error"]["code"] == "no_database"
    counterfoil(tmp_path, beside, "init", str(tmp_path / "here"))
    assert counterfoil(tmp_path, beside, "runs", "list")["data"]["items"] == []
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE ledger.counterfoil_schema SET version = 9999")
    assert counterfoil(tmp_path, beside, "runs", "list", status=3)["error"]["code"] == "newer_schema"


def test_a_server_that_is_not_there_says_so(tmp_path: Path, url: str) -> None:
    nowhere = url.replace(f":{shared().port}/", ":1/")
    assert counterfoil(tmp_path, nowhere, "runs", "list", status=6)["error"]["code"] == "server_lost"
    wrong = url.replace(shared().secret, "wrong")
    assert counterfoil(tmp_path, wrong, "runs", "list", status=6)["error"]["code"] == "server_lost"


def test_conformance_runs_within_a_database_in_use(tmp_path: Path, url: str) -> None:
    told = counterfoil(tmp_path, url, "conformance")["data"]
    assert (told["backend"], told["failed"], told["skipped"]) == ("postgres", 0, 0)
    beside = counterfoil(tmp_path, str(tmp_path / "ledger.db"), "conformance")["data"]
    assert told["collected"] == beside["collected"]
    assert {a: c["collected"] for a, c in told["by_area"].items()} == {
        a: c["collected"] for a, c in beside["by_area"].items()
    }
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'scratch%'").fetchone() == (0,)


def test_the_demo_is_told_on_a_server(tmp_path: Path, url: str) -> None:
    """Killed with the answer on its way, recovered, and nothing of the password in what it wrote down."""
    kept, place = tmp_path / "kept", f"{url}?schema=demo"
    told = counterfoil(tmp_path, place, "demo", "--receiver", "key", "--keep", str(kept), "--db", place)["data"]
    (story,) = told["stories"]
    assert (story["outcome"], story["crash"]["exit_signal"], story["recovery"]["how"]) == ("succeeded", 9, "repeat")
    assert story["receiver"]["records"] == 1
    assert "schema=demo" in told["paths"]["db"] and not (kept / "counterfoil.db").exists()
    assert shared().secret not in (kept / "demo.log").read_text()
    again = counterfoil(tmp_path, place, "demo", "--db", place, status=3)
    assert again["error"]["code"] == "already_initialised"
    assert counterfoil(tmp_path, place, "demo", "--db", "here.db", status=2)["error"]["code"] == "usage"
