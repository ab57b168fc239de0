"""The commands that start things, on a real database: `init`, `submit`, `worker`."""

import json
import stat
import tomllib
from collections.abc import Generator
from pathlib import Path

import pytest

from counterfoil.cli.command import DECLARED
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed
from tests.edges.cli_shapes import missing


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path)


@pytest.fixture
def shop(cli: Cli) -> Generator[SandboxProcess, None, None]:
    with SandboxProcess("key") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        yield sandbox


def test_init_makes_all_that_a_tour_needs(cli: Cli) -> None:
    for name in ("ana", "oscar"):
        secret = cli.folder / ".counterfoil" / f"{name}.secret"
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert len(secret.read_text().strip()) >= 32
    assert stat.S_IMODE((cli.folder / ".counterfoil").stat().st_mode) == 0o700
    assert stat.S_IMODE((cli.folder / ".counterfoil" / "approval.key").stat().st_mode) == 0o600
    assert [key["counts"] for key in cli.json("keys", "list").data["items"]] == [True]
    assert tomllib.loads((cli.folder / "counterfoil.toml").read_text()) == {"app": "app:app"}
    people = cli.json("people", "list").data
    assert missing(DECLARED["people list"].data, people) == []
    assert [(p["name"], p["roles"]) for p in people["items"]] == [
        (name, ["admin", "buyer", "buying-lead", "desk"]) for name in ("ana", "oscar")
    ]


def test_init_without_an_application_writes_a_small_one_that_runs(tmp_path: Path) -> None:
    outside = Cli(tmp_path, {"COUNTERFOIL_STATE": str(tmp_path / "state")})
    data = outside.json("init", "new").data
    assert missing(DECLARED["init"].data, data) == []
    source = Path(data["app_file"]).read_text()
    assert len(source.splitlines()) < 40
    cli = Cli(tmp_path / "new", outside.environ)
    with SandboxProcess("key") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("buy")
        cli.drive()
        cli.approve()
        cli.drive()
        assert cli.show()["state"] == "completed"
        assert len(sandbox.records()) == 1


def test_init_refuses_what_is_there(cli: Cli, tmp_path: Path) -> None:
    outside = Cli(tmp_path, cli.environ)
    assert outside.refused("init", "tour") == (3, "already_initialised")
    (cli.folder / "counterfoil.toml").unlink()
    assert outside.refused("init", "tour") == (3, "already_initialised")
    (tmp_path / "file").write_text("")
    assert outside.refused("init", "file") == (2, "usage")
    assert outside.refused("init", "other", "--app", "nothing_here:app") == (2, "app_not_found")
    assert outside.refused("init", "other", "--accept-no-marker", " ") == (2, "usage")


def test_init_that_fails_can_be_typed_again(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder of the marker should be")
    outside = Cli(tmp_path, {"COUNTERFOIL_STATE": str(tmp_path / "state")})
    assert outside.refused("init", "new") == (3, "no_marker_place")
    assert not (tmp_path / "new" / "counterfoil.db").exists()
    assert outside.json("init", "new", "--accept-no-marker", "ana").data["marker"] is None
    stored = tomllib.loads((tmp_path / "new" / "counterfoil.toml").read_text())
    assert stored == {"app": "app:app", "no_marker_accepted_by": "ana"}
    assert Cli(tmp_path / "new", outside.environ).json("runs", "list").data["items"] == []


def test_init_of_one_person(tmp_path: Path) -> None:
    cli = installed(tmp_path, "--single-person")
    (cli.folder / "proof.txt").write_text("seen at the desk")
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        version = cli.drive_to_a_stop("letter")["records"]["operations"][0]["version"]
    resolve = ("operations", "resolve", "op-1", "--as", "succeeded", "--expect-version", str(version), "--by", "ana")
    said = ("--reference", "letter-1", "--reason", "seen at the desk", "--evidence", "proof.txt")
    (warning,) = cli.json(*resolve, *said).document["warnings"]
    assert warning["code"] == "single_person"
    assert (
        cli.show()["established"][-2]["what"] == "ana resolved op-1 as succeeded, in an installation of a single person"
    )


def test_submit_finds_the_same_run_for_ever(cli: Cli) -> None:
    first = cli.submit("buy")
    assert missing(DECLARED["submit"].data, first) == []
    assert (first["admitted"], first["state"]) == ("new", "pending")
    assert cli.submit("buy") | {"admitted": "new"} == first
    assert cli.submit("buy")["admitted"] == "existing"
    other = ("submit", "buy", "--input", "-", "--request-id", "buy-1")
    assert cli.refused(*other, stdin=b'{"number": "2"}') == (3, "request_conflict")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "malformed_json"),
        (b"{", "malformed_json"),
        (b"\xff\xfe", "malformed_json"),
        (b'{"number": NaN}', "malformed_json"),
        (b'{"number": "1", "number": "2"}', "malformed_json"),
        (b'{"number": "\\ud800"}', "malformed_json"),
        (b"[" * 200_000, "malformed_json"),
        (b"9" * 10_000, "malformed_json"),
        (b"{}", "invalid_payload"),
        (b"[]", "invalid_payload"),
        (b'"a"', "invalid_payload"),
        (b'{"number": 1}', "invalid_payload"),
        (json.dumps({"number": "1", "item": "x" * 70_000}).encode(), "too_large"),
    ],
)
def test_submit_refuses_an_input_and_stores_nothing(cli: Cli, content: bytes, code: str) -> None:
    ended = cli.json("submit", "buy", "--input", "-", "--request-id", "r", stdin=content)
    assert ended.code == code
    assert ended.status == (3 if code == "too_large" else 2)
    assert cli.json("runs", "list").data["items"] == []


def test_submit_refuses_files_and_names(cli: Cli) -> None:
    (cli.folder / "in.json").write_text('{"number": "1"}')
    inputs = ("--input", "in.json", "--request-id", "r")
    assert cli.refused("submit", "nothing", *inputs) == (4, "unknown_workflow")
    assert cli.refused("submit", "ledger", *inputs) == (4, "unknown_workflow")
    assert cli.refused("submit", "app:nothing", *inputs) == (2, "app_not_found")
    assert cli.refused("submit", "./nothing", *inputs) == (2, "usage")
    for path in ("nothing.json", ".", "/dev/null/x"):
        assert cli.refused("submit", "buy", "--input", path, "--request-id", "r") == (2, "usage")
    assert cli.refused("submit", "buy", "--input", "in.json", "--request-id", "") == (2, "usage")
    assert cli.refused("submit", "buy", *inputs, "--wait", "-1") == (2, "usage")
    assert cli.json("submit", "app:buy", *inputs).data["admitted"] == "new"


def test_submit_waits_until_a_person_is_needed_and_until_the_end(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("buy")
    again = ("submit", "buy", "--input", "-", "--request-id", "buy-1", "--wait")
    patient = cli.json(*again, "0", stdin=b'{"number": "1"}')
    assert (patient.status, patient.data["state"]) == (0, "pending")
    cli.drive()
    asked = cli.json(*again, "9", stdin=b'{"number": "1"}')
    assert (asked.status, asked.data["state"]) == (5, "waiting")
    assert asked.data["next_action"]["who"]["kind"] == "reviewer"
    cli.approve()
    cli.drive()
    ended = cli.json(*again, "9", stdin=b'{"number": "1"}')
    assert (ended.status, ended.data["state"]) == (0, "completed")
    assert ended.data["result"]["reference"] == shop.records()[0]["id"]


def test_submit_waits_for_a_run_that_fails(cli: Cli) -> None:
    cli.submit("raises")
    cli.drive()
    ended = cli.json(
        "submit", "raises", "--input", "-", "--request-id", "raises-1", "--wait", "9", stdin=b'{"number": "1"}'
    )
    assert (ended.status, ended.data["state"]) == (1, "failed")


def test_a_worker_that_is_idle_ends_and_says_so_in_one_document(cli: Cli) -> None:
    ended = cli.json("worker", "--until-idle")
    assert missing(DECLARED["worker"].data, ended.data) == []
    assert (ended.data["ended_by"], ended.data["problems"]) == ("idle", [])
    assert "drives the runs of" in ended.err
    assert cli("worker", "--until-idle").out == ""
    workers = cli.json("workers", "list").data
    assert missing(DECLARED["workers list"].data, workers) == []
    assert [each["gone"] for each in workers["items"]] == [True, True]
    assert cli("workers", "list").out.count("stopped") == 2


def test_a_worker_without_code_or_with_an_owner_who_is_nobody_is_refused(cli: Cli) -> None:
    assert cli.refused("worker", "--app", "nothing_here") == (2, "app_not_found")
    cli.json("people", "revoke", "ana")
    cli.json("people", "revoke", "oscar")
    assert cli.refused("worker", "--until-idle") == (3, "unknown_owner")
