"""A worker's role on a real server: it drives runs to their end, and PostgreSQL itself refuses it an answer."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.servers.postgres import running

APP = "tests.edges.role_application:app"
PASSWORD = "counted"
FORGED: list[LiteralString] = [
    "UPDATE reviews SET state = 'approved', reviewer = 'ana', decided_at = 1",
    "UPDATE reviews SET reviewer = 'ana'",
    "UPDATE reviews SET digest = 'sha256:other'",
    "INSERT INTO answers SELECT 'ans_1', review_id, run_id, 'ana', 'approve', digest, '', 0, 1, 'now' FROM reviews",
    "INSERT INTO entries SELECT ordinal + 1000, run_id, sequence + 1000, 'answer', NULL, NULL, body, at, digest FROM entries LIMIT 1",
    "UPDATE reviews SET expires_at = expires_at + 1",
    "UPDATE reviews SET operation_id = 'op_other'",
    "UPDATE reviews SET scope = '{}'",
    "UPDATE reviews SET needed = 0",
    "UPDATE people SET roles = '[]'",
    "INSERT INTO sessions (session_id) VALUES ('of somebody')",
    "UPDATE sessions SET person = 'ana'",
    "UPDATE entries SET body = body",
    "DELETE FROM entries",
    "DELETE FROM reviews",
    "DROP TRIGGER counterfoil_reviews_answered ON reviews",
]


@pytest.fixture(scope="module")
def owner() -> Iterator[str]:
    with running() as server:
        yield server.url()


@pytest.fixture(scope="module")
def crm() -> Iterator[SandboxProcess]:
    with SandboxProcess("key") as process:
        yield process


def counterfoil(folder: Path, url: str, *words: str, status: int = 0, **environment: str) -> dict[str, Any]:
    paths = os.pathsep.join(path for path in sys.path if path)
    own = {
        "COUNTERFOIL_STATE": str(folder / "state"),
        "COUNTERFOIL_DB": url,
        "PYTHONPATH": paths,
        "COUNTERFOIL_APP": APP,
    }
    ended = subprocess.run(
        [sys.executable, "-m", "counterfoil", *words, "--json"],
        cwd=folder,
        env=os.environ | own | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == status, ended.stdout + ended.stderr
    return json.loads(ended.stdout)


def as_role(owner: str, role: str) -> str:
    return f"postgresql://{role}:{PASSWORD}@{owner.rpartition('@')[2]}"


def test_a_worker_drives_runs_and_writes_no_answer(tmp_path: Path, owner: str, crm: SandboxProcess) -> None:
    counterfoil(tmp_path, owner, "init", str(tmp_path), "--app", APP, CRM_URL=crm.url)
    roles = ("database", "roles", "--worker", "driver", "--console", "front desk")
    printed = counterfoil(tmp_path, owner, *roles)["data"]
    assert printed["applied"] is False
    assert 'GRANT USAGE ON SCHEMA "public" TO "driver", "front desk"' in printed["statements"]
    for _ in range(2):  # it may be run again
        assert counterfoil(tmp_path, owner, *roles, "--apply")["data"]["applied"] is True
    with psycopg.connect(owner, autocommit=True) as connection:
        for role in ("driver", "front desk"):
            connection.execute(sql.SQL("ALTER ROLE {} PASSWORD {}").format(sql.Identifier(role), sql.Literal(PASSWORD)))
    driver, desk = as_role(owner, "driver"), as_role(owner, "front%20desk")
    (tmp_path / "order.json").write_text('{"number": "1"}')
    counterfoil(tmp_path, desk, "submit", "asking", "--input", "order.json", "--request-id", "r1")
    counterfoil(tmp_path, driver, "worker", "--until-idle", CRM_URL=crm.url)
    (review,) = counterfoil(tmp_path, desk, "reviews", "list")["data"]["items"]
    assert review["state"] == "open"

    secret = (tmp_path / ".counterfoil" / "ana.secret").read_text().strip()
    answer = ("reviews", "approve", review["review_id"], "--digest", review["digest"], "--by", "ana")
    told = counterfoil(tmp_path, driver, *answer, status=3, COUNTERFOIL_SECRET=secret)
    assert told["error"]["code"] == "not_granted"
    for statement in FORGED:
        with psycopg.connect(driver) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(statement)
    assert counterfoil(tmp_path, desk, "reviews", "list")["data"]["items"][0]["state"] == "open"

    counterfoil(tmp_path, desk, *answer, COUNTERFOIL_SECRET=secret)
    counterfoil(tmp_path, driver, "worker", "--until-idle", CRM_URL=crm.url)
    (run,) = counterfoil(tmp_path, driver, "runs", "list")["data"]["items"]
    assert (run["state"], len(crm.records())) == ("completed", 1)
    assert counterfoil(tmp_path, desk, "verify")["data"]["differences"] == []


def test_a_file_has_no_roles(tmp_path: Path) -> None:
    roles = ("database", "roles", "--worker", "a", "--console", "b")
    assert counterfoil(tmp_path, str(tmp_path / "a.db"), *roles, status=2)["error"]["code"] == "usage"
