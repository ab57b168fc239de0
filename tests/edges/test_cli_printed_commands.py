"""Every command that is printed works as it is printed, and changes the state it names. What it leaves out is asked for."""

import asyncio
import json
import os
from collections.abc import Generator
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import pytest

from counterfoil.app import App
from counterfoil.cli.command import DECLARED
from counterfoil.engine.finish import Park
from counterfoil.model.run import ParkReason, RunRecord
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed, order
from tests.edges.cli_shapes import missing


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path)


@pytest.fixture
def shop(cli: Cli) -> Generator[SandboxProcess, None, None]:
    with SandboxProcess("key") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        yield sandbox


def printed(shown: dict[str, Any]) -> str:
    action = shown["next_action"]
    assert action["command"], action
    assert action["who"]["kind"] in ("reviewer", "operator", "scheduler")
    return action["command"]


def test_a_review_is_answered(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("buy")
    assert printed(cli.show()) == "counterfoil worker"
    cli.drive()
    commands = {
        printed(cli.show()),
        printed(cli.json("operations", "show", "1").data),
        printed(cli.json("reviews", "show", "1").data),
    }
    assert len(commands) == 1, "the same command, wherever one looks"
    (command,) = commands
    assert cli.typed(command).status == 0
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert cli.show()["next_action"]["who"]["kind"] == "none"


def test_a_review_is_rejected_with_the_other_word(cli: Cli) -> None:
    cli.submit("buy")
    cli.drive()
    assert cli.typed(printed(cli.show()).replace(" approve ", " reject ")).status == 0
    cli.drive()
    run = cli.show()
    assert run["reason"] == "review_rejected"
    assert cli.typed(printed(run)).status == 0
    assert cli.show()["state"] in ("pending", "cancelled")


def test_a_doubt_is_resolved(cli: Cli) -> None:
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        run = cli.drive_to_a_stop("letter")
        reference = sandbox.records()[0]["id"]
    command = printed(run)
    assert command == printed(cli.json("operations", "show", "op-1").data)
    assert cli.typed(command).status == 2, "nobody is there to be asked"
    assert cli.typed(command, "--json").code == "usage"
    assert cli.show()["state"] == "parked"
    (cli.folder / "proof.txt").write_text("seen at the desk")
    ended = cli.typed(command, answers=f"{reference}\nseen at the desk\nproof.txt\noscar\n")
    assert ended.status == 0, ended
    for question in ("reference", "sure", "evidence"):
        assert question in ended.err
    cli.drive()
    run = cli.show()
    assert run["state"] == "completed"
    assert run["records"]["receipts"][-1]["how"] == "person"


def test_an_incident_is_closed(cli: Cli) -> None:
    with SandboxProcess("lookup") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("parcel")
        assert cli.drive_to_a_stop("parcel")["state"] == "completed"
        operation = cli.json("operations", "show", "op-1").data
        write_beside_the_ledger(sandbox.url, operation["operation_id"])
        assert len(sandbox.records()) == 2
        looked = cli.json("operations", "lookup", "op-1").data
    listed = cli.json("incidents", "list", "--open").data
    assert missing(DECLARED["incidents list"].data, listed) == []
    (incident,) = listed["items"]
    command = printed(incident)
    assert command == printed(looked)
    assert cli.typed(command, "--json").code == "usage"
    assert cli.typed(command, answers="the second parcel was called back\n").status == 0
    assert cli.json("incidents", "list", "--open").data["items"] == []
    assert cli.refused("incidents", "close", "inc-1", "--by", "oscar", "--reason", "again") == (3, "incident_closed")


def write_beside_the_ledger(url: str, operation_id: str) -> None:
    """A second record at the receiver under the same reference, by somebody else."""
    place = urlsplit(url)
    connection = HTTPConnection(place.hostname or "", place.port, timeout=30)
    connection.request("POST", "/parcels", body=order("1"), headers={"Counterfoil-Operation": operation_id})
    assert connection.getresponse().status == 201
    connection.close()


def test_a_failed_step_is_retried(cli: Cli) -> None:
    cli.submit("broken")
    cli.drive()
    run = cli.show()
    assert run["state"] == "parked"
    (cli.folder / "app.py").write_text((cli.folder / "app.py").read_text().replace(
        'raise StepFailed("impossible", "there is no such order")', 'return "found"'
    ))  # fmt: skip
    assert cli.typed(printed(run)).status == 0
    cli.drive()
    assert cli.show()["state"] == "completed"


def test_a_suspension_is_lifted(cli: Cli, shop: SandboxProcess) -> None:
    cli.json("writes", "suspend", "--all", "--by", "ana", "--reason", "a test")
    cli.submit("letter")
    cli.drive()
    run = cli.show()
    assert run["reason"] == "writes_suspended"
    command = printed(run)
    assert cli.typed(command).status == 2
    assert cli.typed(command, answers="it is over\n").status == 0
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1


def test_a_drill_is_waived(cli: Cli, shop: SandboxProcess) -> None:
    cli.environ["COUNTERFOIL_DRILL_GATE"] = "all"
    cli.submit("letter")
    cli.drive()
    run = cli.show()
    assert (run["reason"], run["next_action"]["code"]) == ("writes_suspended", "drill_missing")
    command = printed(run)
    name = command.split()[3]
    assert command.startswith(f"counterfoil waivers add {name} --by ")
    (listed,) = [each for each in cli.json("doctor").data["unattended"] if each["operation"] == name]
    assert (listed["gate"], listed["drill_at"], listed["waiver"]) == (True, None, None)
    assert cli.typed(command).status == 2
    assert cli.typed(command, answers="it leaves tonight\n1d\n").status == 0
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1
    waivers = cli.json("waivers", "list").data
    assert missing(DECLARED["waivers list"].data, waivers) == []
    assert waivers["items"][0]["stands"] is True
    revoked = cli.json("waivers", "revoke", name, "--by", "ana", "--reason", "over").data
    assert revoked["revoked_by"] == "ana"
    assert cli.refused("waivers", "revoke", name, "--by", "ana", "--reason", "over") == (3, "no_waiver")


def test_a_restore_is_finished_in_the_place_that_the_command_names(
    cli: Cli, tmp_path: Path, shop: SandboxProcess
) -> None:
    # Only a receiver that refuses other bytes under the key leaves something to hold: any other is a doubt at once.
    source = (
        (cli.folder / "app.py")
        .read_text()
        .replace("timedelta(hours=24))", 'timedelta(hours=24), other_body="rejects")')
    )
    source = source.replace('procedure="Ask the desk."', 'procedure="Ask the desk.", key=KEY')
    (cli.folder / "app.py").write_text(source)
    cli.submit("letter")
    elsewhere = tmp_path / "with a space"
    cli.folder.rename(elsewhere)
    moved = Cli(elsewhere, cli.environ)
    moved.drive()
    run = moved.show()
    assert run["reason"] == "restored"
    assert "--db" not in printed(run), "it is the default there"
    outside = Cli(tmp_path, cli.environ)
    there = ("--db", str(elsewhere / "counterfoil.db"))
    command = printed(outside.json("runs", "show", "1", *there).data)
    assert str(elsewhere) in command
    assert outside.typed(command, answers="I moved the folder\n").status == 0
    assert moved.json("restore", "status").data["suspended"] is False
    assert moved.drive_to_a_stop("letter")["state"] == "completed"


def test_code_that_is_gone_is_cancelled(cli: Cli) -> None:
    cli.submit("waits")
    source = (cli.folder / "app.py").read_text()
    (cli.folder / "app.py").write_text(source.replace("version=1, budget=BUDGET", "version=2, budget=BUDGET"))
    cli.drive()
    run = cli.show()
    assert run["reason"] == "code_changed"
    assert cli.typed(printed(run)).status == 0
    cli.drive()
    assert cli.show()["state"] == "cancelled"


PARKED = (
    "review_expired",
    "expired",
    "no_progress",
    "poisoned",
    "budget_elapsed",
    "budget_spend",
    "no_worker",
    "clock_jump",
)


@pytest.mark.parametrize("reason", PARKED)
def test_a_parked_run_is_moved(cli: Cli, reason: str) -> None:
    cli.submit("waits")
    cli.drive()
    asyncio.run(park(cli, ParkReason(reason)))
    run = cli.show()
    assert (run["state"], run["reason"]) == ("parked", reason)
    command = printed(run)
    if command == "counterfoil worker":
        cli.drive()  # as printed it would serve until it is told to end
        assert cli.show()["state"] == "waiting"
    elif command == "counterfoil doctor":
        assert cli.typed(command).status == 0, "it is asked what is wrong; the clocks move the run"
    else:
        assert cli.typed(command).status == 0
        assert cli.show()["state"] == "pending"
        cli.drive()
        assert cli.show()["state"] == "waiting"


async def park(cli: Cli, reason: ParkReason) -> None:
    """As a worker parks it."""
    app = App("parking", db=str(cli.folder / "counterfoil.db"))
    with mock.patch.dict(os.environ, cli.environ):
        opened = app.open()
        with opened.read() as reader:
            (run,) = reader.rows(RunRecord)
        owner = {"name": "desk", "within_us": 3_600_000_000, "then": None}
        assert await opened.write(Park(run.run_id, None, run.sequence, reason, "", owner, None, None, None))
        app.close()


def test_another_intention_under_one_business_key_is_refused_or_allowed(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("letter")
    cli.drive()
    (cli.folder / "proof.txt").write_text("asked the customer")
    for number, as_, left in ((2, "failed", "step_failed"), (3, "send-again", None)):
        other = json.dumps({"number": "1", "item": f"item {number}"}).encode()
        cli.json("submit", "letter", "--input", "-", "--request-id", f"other-{number}", stdin=other)
        cli.drive()
        run = cli.show(f"run-{number}")
        assert run["reason"] == "business_key_conflict"
        command = printed(run)
        assert "--as failed" in command
        answers = "asked the customer\nproof.txt\n"
        assert cli.typed(command.replace("--as failed", f"--as {as_}"), answers=answers).status == 0
        cli.drive()
        assert cli.show(f"run-{number}")["reason"] == left
    assert cli.show("run-3")["state"] == "completed"
    assert len(shop.records()) == 2


def test_a_budget_is_raised(cli: Cli) -> None:
    (cli.folder / "app.py").write_text((cli.folder / "app.py").read_text().replace(
        '@step(retry=Retry(tries=1))', ""
    ).replace('raise StepFailed("impossible", "there is no such order")', 'raise OSError("not now")'))  # fmt: skip
    cli.submit("broken")
    run = cli.drive_to_a_stop("broken")
    assert run["reason"] == "budget_attempts"
    assert cli.typed(printed(run)).status == 0
    after = cli.show()
    assert after["state"] == "pending"
    assert after["budgets"][0]["limit"] > run["budgets"][0]["limit"]


def test_a_shared_budget_is_raised_by_its_owner(cli: Cli, shop: SandboxProcess) -> None:
    _with_budgets(cli, own="")
    _two_parcels(cli)
    run = cli.show("run-2")
    assert (run["reason"], run["next_action"]["code"]) == ("budget_calls", "raise_shared_budget")
    command = printed(run)
    assert command == "counterfoil budgets raise budget-1 --raise calls:place_order=2"
    (listed,) = cli.json("budgets", "list").data["items"]
    assert listed == cli.json("budgets", "show", "budget-1").data and listed["waiting"] == [run["run_id"]]
    assert cli.typed(command).status == 2, "nobody is there to be asked"
    assert cli.typed(command, answers="a second one is meant\nana\n").status == 0
    cli.drive()
    assert cli.show("run-2")["reason"] == "review", "it asks its reviewer now"
    assert cli.json("find", "budget-1").data["items"][0]["kind"] == "budget"
    refused = cli.json("budgets", "raise", "1", "--raise", "calls:place_order=2", "--by", "ana", "--reason", "again")
    assert (refused.status, refused.code) == (3, "limit_not_higher")
    assert cli.json("verify").status == 0


def test_calls_of_one_run_are_raised(cli: Cli, shop: SandboxProcess) -> None:
    _with_budgets(cli, own=', calls={"send_letter": 1}, tokens=9')
    app = cli.folder / "app.py"
    first, again = "await run.perform(send_letter, order)", "await run.perform(send_letter, Order(number='2'))"
    twice = f"{first}\n    return {again}"
    app.write_text(app.read_text().replace("return await run.perform(send_letter, order)", twice))
    cli.submit("letter")
    run = cli.drive_to_a_stop("letter")
    assert run["reason"] == "budget_calls"
    command = printed(run)
    assert command == "counterfoil runs resume run-1 --raise calls:send_letter=2"
    assert cli.typed(command.replace("=2", "=1"), answers="one more\n").status == 3, "that is no raise"
    assert cli.typed(f"{command} --by ana", answers="one more letter is meant\n").status == 0
    assert "one more letter is meant" in cli("audit", "list").out
    cli.drive()
    assert (cli.show()["state"], len(shop.records())) == ("completed", 2)
    (line,) = [each for each in cli.show()["budgets"] if each["kind"] == "calls"]
    assert (line["of"], line["limit"], line["used"], line["scope"], line["name"]) == ("send_letter", 2, 2, "run", None)
    assert cli.json("budgets", "list").data["items"] == []
    assert [each["scope"] for each in cli.json("budgets", "list", "--scope", "run").data["items"]] == ["run"]


def _with_budgets(cli: Cli, own: str) -> None:
    """The application with a limit on orders that runs share, or with limits of a run."""
    app = cli.folder / "app.py"
    shared = 'app.budget(SharedBudget(name="orders", scope="business_day", calls={"place_order": 1}, owner="desk"))\n'
    text = app.read_text().replace("spend_usd=1, owner", f"spend_usd=1{own}, owner")
    text = text.replace("\nBUDGET = ", f"\n{'' if own else shared}BUDGET = ").replace(
        "    Budget,", "    Budget, SharedBudget,"
    )
    app.write_text(text.replace("    App, Ask,", "    App, SharedBudget, Ask,"))


def _two_parcels(cli: Cli) -> None:
    cli.submit("buy")
    cli.drive()
    assert cli.typed(printed(cli.show())).status == 0
    cli.drive()
    assert cli.show()["state"] == "completed"
    other = json.dumps({"number": "2", "item": "tea"}).encode()
    cli.json("submit", "buy", "--input", "-", "--request-id", "other", stdin=other)
    cli.drive()


def test_a_signal_is_sent(cli: Cli) -> None:
    cli.submit("waits")
    cli.drive()
    command = printed(cli.show())
    assert command == "counterfoil signals send run-1 go"
    assert cli.typed(command).status == 2, "nobody is there to be asked"
    assert cli.typed(command, answers="s1\nno JSON\n").status == 2
    assert cli.show()["state"] == "waiting"
    assert cli.typed(command, answers='s1\n"it came"\n').status == 0
    cli.drive()
    assert (cli.show()["state"], cli.show()["result"]) == ("completed", "it came")
