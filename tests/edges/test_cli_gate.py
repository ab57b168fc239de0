"""The gate in processes that are killed: a waiver, a registered drill and the run that waits for them, around each commit."""

import json
import signal
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import APP, Cli, installed
from tests.edges.test_cli_processes import environment, run

LIVE = APP.replace('environment="test"', 'environment="live"')
ADD = ("waivers", "add", "send_letter", "--by", "ana", "--reason", "it leaves tonight", "--until", "1d", "--json")
REGISTER = """
import asyncio, json
import app as mine
from counterfoil.model.drill import Covered, PlayedCase, Rehearsal
operation = mine.app.registry.operations["send_letter"]
covers = (Covered("send_letter", operation.contract.digest(), "letter", 1),)
cases = (PlayedCase("letter/operation.replied#1/kill-after", "kill-after", "pass"),)
drilled = Rehearsal("letter", "sha256:aa", 0, covers, cases)
print(json.dumps(asyncio.run(mine.app.drills.register(drilled))))
mine.app.close()
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path, app=LIVE)


@pytest.fixture
def shop(cli: Cli) -> Generator[SandboxProcess, None, None]:
    with SandboxProcess("key") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        yield sandbox


def killed(cli: Cli, at: str, *argv: str) -> None:
    status, _, err = run(cli, *argv, env=environment(cli, COUNTERFOIL_CRASH_AT=at))
    assert status == -signal.SIGKILL, err


def held(cli: Cli) -> None:
    cli.submit("letter")
    cli.drive()
    shown = cli.show()
    assert (shown["state"], shown["next_action"]["code"]) == ("parked", "drill_missing")


def goes_on(cli: Cli, shop: SandboxProcess) -> None:
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1
    checked = cli.json("verify").data
    assert (checked["broken"], checked["differences"]) == ([], [])


@pytest.mark.parametrize(("when", "stored"), [("before", False), ("after", True)])
def test_a_waiver_is_there_with_the_run_woken_or_not_at_all(
    cli: Cli, shop: SandboxProcess, when: str, stored: bool
) -> None:
    held(cli)
    killed(cli, f"{when}:installation.changed", *ADD)
    assert bool(cli.json("waivers", "list").data["items"]) is stored
    cli.drive()
    assert (cli.show()["state"] == "completed") is stored, "nobody has to say it again, or nothing was said"
    assert cli.json(*ADD[:-1]).status == 0
    goes_on(cli, shop)


@pytest.mark.parametrize(("when", "stored"), [("before", False), ("after", True)])
def test_a_drill_is_registered_with_the_run_woken_or_not_at_all(
    cli: Cli, shop: SandboxProcess, when: str, stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.edges.test_cli_processes.COMMAND", [sys.executable, "-c", REGISTER])
    held(cli)
    killed(cli, f"{when}:installation.changed")
    found = {each["operation"]: each["drill_at"] for each in cli.json("doctor").data["unattended"]}
    assert (found["send_letter"] is not None) is stored
    cli.drive()
    assert (cli.show()["state"] == "completed") is stored
    status, out, err = run(cli)
    assert status == 0, err
    assert json.loads(out)["items"][0]["operation"] == "send_letter"
    goes_on(cli, shop)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("boundary", ["operation.advanced", "run.parked"])
def test_a_worker_that_dies_at_the_gate_sends_nothing(cli: Cli, shop: SandboxProcess, when: str, boundary: str) -> None:
    cli.environ["COUNTERFOIL_LEASE_SECONDS"] = "0.2"
    cli.submit("letter")
    killed(cli, f"{when}:{boundary}", "worker", "--until-idle")
    assert shop.records() == []
    shown = cli.drive_to_a_stop("letter")
    assert (shown["state"], shown["next_action"]["code"]) == ("parked", "drill_missing")
    assert shop.records() == []
    assert cli.json(*ADD[:-1]).status == 0
    goes_on(cli, shop)


def test_a_waiver_is_revoked_before_the_send_and_holds_it(cli: Cli, shop: SandboxProcess) -> None:
    assert cli.json(*ADD[:-1]).status == 0
    assert cli.json("waivers", "revoke", "send_letter", "--by", "oscar", "--reason", "not tonight").status == 0
    held(cli)
    assert shop.records() == []
