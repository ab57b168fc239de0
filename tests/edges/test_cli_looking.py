"""Commands that look and check, and what they say of broken code, databases and settings."""

from collections.abc import Generator
from pathlib import Path

import pytest

from counterfoil.cli.command import DECLARED
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import APP, Cli, installed
from tests.edges.cli_shapes import missing


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path)


@pytest.fixture
def shop(cli: Cli) -> Generator[SandboxProcess, None, None]:
    with SandboxProcess("key") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        yield sandbox


def test_explain_names_every_field(cli: Cli) -> None:
    for target in ("buy", "place_order", "app:buy", "./", None):
        data = cli.json("explain", *([target] if target else [])).data
        assert missing(DECLARED["explain"].data, data) == []
        assert data["items"]
    assert cli.refused("explain", "nothing")[0] in (2, 4)


def test_boundaries_of_a_workflow_are_those_its_code_can_pass(cli: Cli) -> None:
    def names(*target: str) -> set[str]:
        return {each["boundary"] for each in cli.json("boundaries", *target).data["items"]}

    everything, bought, written = names(), names("buy"), names("letter")
    assert bought < everything
    assert bought - written == {"review.opened", "review.answered"}
    assert "operation.first_byte" in written
    assert "step.ended" not in written
    assert "operation.first_byte" not in names("waits")
    assert names("place_order") == bought
    source = (cli.folder / "app.py").read_text()
    handed_on = source.replace("return await run.step(impossible, order)", "return await helped(run, order)")
    (cli.folder / "app.py").write_text(handed_on)
    ended = cli.json("boundaries", "broken")
    assert {each["boundary"] for each in ended.data["items"]} == everything
    assert ended.document["warnings"][0]["code"] == "boundaries_unknown"
    assert cli.refused("boundaries", "nothing") == (4, "not_found")


def test_checks_give_their_status(cli: Cli, tmp_path: Path) -> None:
    good = cli.json("doctor")
    assert missing(DECLARED["doctor"].data, good.data) == []
    assert len(good.data["promises"]) == 8
    cli.submit("waits")
    cli.drive()
    assert cli.json("verify", "--run", "run-1").status == 0
    assert cli.refused("verify", "--run", "run-9") == (4, "not_found")
    ended = cli.json("conformance", "--db", str(tmp_path / "any.db"))
    assert missing(DECLARED["conformance"].data, ended.data) == []
    assert (ended.status, ended.data["failed"], ended.data["skipped"]) == (0, 0, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "tour"], "nothing is left behind"
    assert cli.refused("conformance", "--db", "/nothing/at/all.db") == (2, "usage")


def test_settings_say_where_each_comes_from(cli: Cli) -> None:
    cli.environ["COUNTERFOIL_SECRET"] = "do not show"
    ended = cli.json("settings", "--db", "x.db")
    found = {each["name"]: (each["value"], each["origin"]) for each in ended.data["items"]}
    assert found["COUNTERFOIL_DB"] == ("x.db", "argument")
    assert found["COUNTERFOIL_APP"] == ("app:app", "file")
    assert found["COUNTERFOIL_LEASE_SECONDS"][1] == "default"
    assert found["COUNTERFOIL_STATE"][1] == "environment"
    assert "do not show" not in ended.out


def test_a_setting_that_is_no_number_is_named(cli: Cli) -> None:
    cli.environ["COUNTERFOIL_LEASE_SECONDS"] = "soon"
    assert cli.refused("runs", "list") == (2, "usage")


def test_broken_code_does_not_stop_what_needs_none(cli: Cli) -> None:
    cli.submit("waits")
    (cli.folder / "app.py").write_text("print('noise on stdout')\nraise SystemExit(9)\n")
    ended = cli.json("runs", "list")
    assert [run["number"] for run in ended.data["items"]] == [1]
    assert ended.document["warnings"][0]["code"] == "app_not_found"
    assert "noise" in ended.err
    assert cli.refused("worker", "--until-idle") == (2, "app_not_found")
    (cli.folder / "app.py").write_text(
        APP.replace('duplicate="costly", key=KEY', "key=KEY").replace('business_key="number",', "", 1)
    )
    assert cli.refused("worker", "--until-idle") == (3, "no_business_key")


def test_databases_that_are_not_ours(cli: Cli) -> None:
    (cli.folder / "text.db").write_text("not a database, and long enough to have a header of sixteen bytes")
    (cli.folder / "empty.db").write_bytes(b"")
    (cli.folder / "half.db").write_bytes((cli.folder / "counterfoil.db").read_bytes()[:5000])
    for name, codes in {
        "text.db": {"not_ours"}, "empty.db": {"not_ours", "no_database"}, ".": {"not_ours", "no_database"},
        "half.db": {"not_ours", "storage_failed", "no_database"}, "nothing.db": {"no_database"},
        "no/folder/x.db": {"no_database"}, "postgresql://127.0.0.1:9/x": {"server_lost"}, "/dev/null": {"not_ours", "no_database"},
        "x" * 300: {"usage"},
    }.items():  # fmt: skip
        ended = cli.json("runs", "list", "--db", name)
        assert ended.code in codes, name
        assert ended.status in (2, 3, 4, 6)


def test_the_demo_refuses_what_it_does_not_know(cli: Cli) -> None:
    for wrong in (("odd",), ("--receiver", "odd"), ("--fault", "odd"), ("--engine", "odd")):
        assert cli.refused("demo", *wrong) == (2, "usage")
    assert cli.refused("demo", "--crash-at", "odd") == (2, "unknown_boundary")


def test_the_sandbox_refuses_what_it_does_not_know(cli: Cli) -> None:
    (cli.folder / "c.json").write_text('{"odd": 1}')
    for wrong in (
        (), ("--kind", "odd"), ("--kind", "key", "--contract", "c.json"), ("--contract", "c.json"), ("--kind", "key", "--fault", "odd"),
        ("--kind", "key", "--port", "99999"), ("--kind", "key", "--records", "/nothing/here"),
    ):  # fmt: skip
        assert cli.refused("sandbox", *wrong) == (2, "usage"), wrong


def test_a_list_says_the_same_as_what_it_lists(cli: Cli) -> None:
    for workflow in ("buy", "letter", "broken", "waits"):
        cli.submit(workflow)
    listed = [cli.json("runs", "list").data["items"]]
    cli.drive()
    listed.append(cli.json("runs", "list").data["items"])
    for run in listed[-1]:
        shown = cli.show(run["run_id"])
        assert run == {name: value for name, value in shown.items() if name != "records"}
    assert {run["state"] for run in listed[-1]} == {"waiting", "parked"}
    assert {run["state"] for run in listed[0]} == {"pending"}
    for operation in cli.json("operations", "list").data["items"]:
        assert operation == cli.json("operations", "show", operation["operation_id"]).data
