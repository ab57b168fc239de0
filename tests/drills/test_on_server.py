"""A drill whose ledgers lie on a server: the same cases, the same verdicts, and nothing of it left in the database."""

from collections.abc import Iterator

import pytest

pytest.importorskip("psycopg")

from counterfoil.app.located import OnServer
from counterfoil.drills.plan import fits, planned_of
from counterfoil.drills.report import Case
from counterfoil.drills.running import Ensemble
from counterfoil.drills.target import Target
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.testing.case_ledger import ledgers_at
from tests.drills.core_workflows import app
from tests.servers.postgres import shared

# One case of each way of disturbing that knows of the ledger's place, and the ways of being killed while sending.
PLAYED = ("write/operation.in_flight#1/*", "write/operation.first_byte#1/*", "write/run.submitted#1/power-cut")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with shared().database() as url:
        yield url


@pytest.fixture(scope="module")
def cases(url: str) -> dict[str, Case]:
    ledgers = ledgers_at(OnServer(PostgresAddress.of(url)))
    with Ensemble(Target.of(app, "write", text="core:write"), ledgers=ledgers) as ensemble:
        learned = ensemble.learn()
        planned = [case for case in planned_of(learned) if any(fits(case, glob) for glob in PLAYED)]
        return {case["case_id"]: case for case in ensemble.play(planned, learned)}


def test_each_case_passes(cases: dict[str, Case]) -> None:
    assert [(name, case["reasons"]) for name, case in cases.items() if case["verdict"] == "fail"] == []
    faults = {case["fault"] for case in cases.values()}
    assert faults >= {"restored-file", "restored-directory", "cloned", "power-cut", "disk-full", "freeze-takeover-thaw"}


@pytest.mark.parametrize("fault", ["restored-file", "restored-directory"])
def test_a_backup_is_put_back_into_the_schema(cases: dict[str, Case], fault: str) -> None:
    proof = cases[f"write/operation.in_flight#1/{fault}"]["applied"]["proof"]
    assert proof["before"]["head"]["batches"] > proof["after"]["head"]["batches"]
    assert proof["after"]["tables"]["runs"] == 1
    assert proof["while_suspended"]["restore"]["recognised_by"] == "behind"


def test_a_copy_in_another_schema_is_one(cases: dict[str, Case]) -> None:
    proof = cases["write/operation.in_flight#1/cloned"]["applied"]["proof"]
    assert proof["while_suspended"]["restore"]["recognised_by"] == "copied"
    assert proof["original"] != proof["elsewhere"]


def test_a_full_disk_is_the_servers(cases: dict[str, Case]) -> None:
    proof = cases["write/operation.in_flight#1/disk-full"]["applied"]["proof"]
    assert proof["refused_with"] == "53100"
    assert {(each["code"], each["cause"]) for each in proof["met"]} == {("disk_full", "DiskFull")}


def test_a_server_that_goes_in_the_middle_of_a_commit(cases: dict[str, Case]) -> None:
    proof = cases["write/operation.in_flight#1/power-cut"]["applied"]["proof"]
    assert proof["lost"] in ("request", "answer") and proof["server_process"] > 1
    assert proof["acknowledged"] <= proof["kept"]["head"]["batches"]


def test_nothing_of_it_stays(cases: dict[str, Case], url: str) -> None:
    assert shared().ask("SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'scratch%'", url=url) == [(0,)]
