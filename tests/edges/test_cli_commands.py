"""Every command on a real database: what it gives, and what it refuses."""

import json
import os
import stat
import tomllib
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


def refused(cli: Cli, *argv: str, stdin: bytes = b"") -> tuple[int, str]:
    ended = cli.json(*argv, stdin=stdin)
    return ended.status, ended.code


def approve(cli: Cli, *more: str) -> dict[str, object]:
    review = cli.json("reviews", "list", "--state", "open").data["items"][0]
    return cli.json("reviews", "approve", review["review_id"], "--digest", review["digest"], "--by", "ana", *more).data


# ---------------------------------------------------------------------- init


def test_init_makes_all_that_a_tour_needs(cli: Cli) -> None:
    for name in ("ana", "oscar"):
        secret = cli.folder / ".counterfoil" / f"{name}.secret"
        assert stat.S_IMODE(secret.stat().st_mode) == 0o600
        assert len(secret.read_text().strip()) >= 32
    assert stat.S_IMODE((cli.folder / ".counterfoil").stat().st_mode) == 0o700
    assert tomllib.loads((cli.folder / "counterfoil.toml").read_text()) == {"app": "app:app"}
    people = cli.json("people", "list").data
    assert missing(DECLARED["people list"].data, people) == []
    assert [(p["name"], p["roles"]) for p in people["items"]] == [
        (name, ["buyer", "buying-lead", "desk"]) for name in ("ana", "oscar")
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
        approve(cli)
        cli.drive()
        assert cli.show()["state"] == "completed"
        assert len(sandbox.records()) == 1


def test_init_refuses_what_is_there(cli: Cli, tmp_path: Path) -> None:
    outside = Cli(tmp_path, cli.environ)
    assert refused(outside, "init", "tour") == (3, "already_initialised")
    (cli.folder / "counterfoil.toml").unlink()
    assert refused(outside, "init", "tour") == (3, "already_initialised")
    (tmp_path / "file").write_text("")
    assert refused(outside, "init", "file") == (2, "usage")
    assert refused(outside, "init", "other", "--app", "nothing_here:app") == (2, "app_not_found")
    assert refused(outside, "init", "other", "--accept-no-marker", " ") == (2, "usage")


def test_init_that_fails_can_be_typed_again(tmp_path: Path) -> None:
    (tmp_path / "state").write_text("a file where the folder of the marker should be")
    outside = Cli(tmp_path, {"COUNTERFOIL_STATE": str(tmp_path / "state")})
    assert refused(outside, "init", "new") == (3, "no_marker_place")
    assert not (tmp_path / "new" / "counterfoil.db").exists()
    assert outside.json("init", "new", "--accept-no-marker", "ana").data["marker"] is None
    stored = tomllib.loads((tmp_path / "new" / "counterfoil.toml").read_text())
    assert stored == {"app": "app:app", "no_marker_accepted_by": "ana"}
    assert Cli(tmp_path / "new", outside.environ).json("runs", "list").data["items"] == []


def test_init_of_one_person(tmp_path: Path) -> None:
    cli = installed(tmp_path, "--single-person")
    assert cli.json("people", "list").status == 0


# ---------------------------------------------------------------------- submit, worker


def test_submit_finds_the_same_run_for_ever(cli: Cli) -> None:
    first = cli.submit("buy")
    assert missing(DECLARED["submit"].data, first) == []
    assert (first["admitted"], first["state"]) == ("new", "pending")
    assert cli.submit("buy") | {"admitted": "new"} == first
    assert cli.submit("buy")["admitted"] == "existing"
    other = ("submit", "buy", "--input", "-", "--request-id", "buy-1")
    assert refused(cli, *other, stdin=b'{"number": "2"}') == (3, "request_conflict")


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
    assert refused(cli, "submit", "nothing", *inputs) == (4, "unknown_workflow")
    assert refused(cli, "submit", "ledger", *inputs) == (4, "unknown_workflow")
    assert refused(cli, "submit", "app:nothing", *inputs) == (2, "app_not_found")
    assert refused(cli, "submit", "./nothing", *inputs) == (2, "usage")
    for path in ("nothing.json", ".", "/dev/null/x"):
        assert refused(cli, "submit", "buy", "--input", path, "--request-id", "r") == (2, "usage")
    assert refused(cli, "submit", "buy", "--input", "in.json", "--request-id", "") == (2, "usage")
    assert refused(cli, "submit", "buy", *inputs, "--wait", "-1") == (2, "usage")
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
    approve(cli)
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
    assert "gone" in cli("workers", "list").out


def test_a_worker_without_code_or_with_an_owner_who_is_nobody_is_refused(cli: Cli) -> None:
    assert refused(cli, "worker", "--app", "nothing_here") == (2, "app_not_found")
    cli.json("people", "revoke", "ana")
    cli.json("people", "revoke", "oscar")
    assert refused(cli, "worker", "--until-idle") == (3, "unknown_owner")


# ---------------------------------------------------------------------- runs, operations, reviews


def test_the_way_of_an_approved_order(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("buy")
    cli.drive()
    listed = cli.json("reviews", "list").data
    assert missing(DECLARED["reviews list"].data, listed) == []
    review = cli.json("reviews", "show", "rev-1").data
    assert missing(DECLARED["reviews show"].data, review) == []
    assert review["payload"] == {"number": "1", "item": "tea"}
    assert refused(cli, "reviews", "approve", "rev-1", "--digest", "sha256:" + "0" * 64, "--by", "ana") == (
        3,
        "digest_mismatch",
    )
    answered = approve(cli, "--comment", "fine")
    assert missing(DECLARED["reviews approve"].data, answered) == []
    assert (answered["state"], answered["decided"]) == ("approved", "now")
    again = cli.json("reviews", "approve", "rev-1", "--digest", review["digest"], "--by", "ana")
    assert (again.status, again.data["decided"]) == (0, "earlier")
    cli.drive()
    run = cli.show()
    assert missing(DECLARED["runs show"].data, run) == []
    assert run["state"] == "completed"
    operation = cli.json("operations", "show", "op-1").data
    assert missing(DECLARED["operations show"].data, operation) == []
    assert operation["receipts"][0]["reference"] == shop.records()[0]["id"]
    assert refused(cli, "reviews", "withdraw", "rev-1", "--by", "ana")[0] == 3
    assert refused(cli, "runs", "cancel", "run-1") == (3, "run_ended")
    for words in ("runs list", "operations list", "incidents list", "find shop", "verify"):
        ended = cli.json(*words.split())
        name = words if words in DECLARED else words.split()[0]
        assert ended.status == 0
        assert missing(DECLARED[name].data, ended.data) == []
    for words in ("runs list", "runs show 1", "operations list", "operations show 1", "reviews list", "reviews show 1", "verify",
                  "people list", "find 1", "doctor", "restore status", "writes status", "explain buy"):  # fmt: skip
        shown = cli(*words.split())
        assert shown.out.strip(), words
        assert len(shown.out.splitlines()) < 120


def test_a_rejection_a_revision_and_a_withdrawal(cli: Cli) -> None:
    for number in ("1", "2", "3"):
        cli.submit("buy", number)
    cli.drive()
    digests = {r["number"]: r["digest"] for r in cli.json("reviews", "list").data["items"]}
    data = cli.json("reviews", "reject", "1", "--digest", digests[1], "--by", "oscar", "--comment", "no").data
    assert missing(DECLARED["reviews reject"].data, data) == []
    assert data["state"] == "rejected"
    assert cli.json("reviews", "reject", "2", "--digest", digests[2], "--by", "oscar", "--ask-revision").status == 0
    assert cli.json("reviews", "approve", "3", "--digest", digests[3], "--by", "ana").status == 0
    data = cli.json("reviews", "withdraw", "3", "--by", "ana").data
    assert missing(DECLARED["reviews withdraw"].data, data) == []
    cli.drive()
    assert cli.show()["reason"] == "review_rejected"
    assert refused(cli, "reviews", "list", "--state", "odd") == (2, "usage")
    assert refused(cli, "reviews", "show", "rev-99") == (4, "not_found")


def test_a_doubt_is_resolved_with_evidence(cli: Cli) -> None:
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        run = cli.drive_to_a_stop("letter")
        record = sandbox.records()[0]
    assert (run["state"], run["reason"]) == ("parked", "outcome_unknown")
    operation = cli.json("operations", "show", "op-1").data
    seen = ("--expect-version", str(operation["version"]))
    assert refused(cli, "operations", "lookup", "op-1") == (3, "no_lookup")
    (cli.folder / "proof.txt").write_text("the desk says: letter sent")
    full = (
        "--reference",
        str(record["reference"]),
        "--reason",
        "asked the desk",
        "--evidence",
        "proof.txt",
        "--by",
        "oscar",
    )
    resolve = ("operations", "resolve", "op-1", "--as", "succeeded")
    for left_out in (0, 2, 4, 6):
        given = full[:left_out] + full[left_out + 2 :]
        assert refused(cli, *resolve, *seen, *given) == (2, "usage")
    assert refused(cli, *resolve, "--expect-version", "0", *full) == (3, "stale_version")
    assert refused(cli, *resolve, "--expect-version", "9" * 40, *full) == (2, "usage")
    assert refused(cli, "operations", "resolve", "op-1", "--as", "odd", *seen, *full) == (2, "usage")
    assert refused(cli, *resolve, *seen, *full[:-1], "nobody") == (2, "secret_missing")
    ended = cli.json(*resolve, *seen, *full)
    assert missing(DECLARED["operations resolve"].data, ended.data) == []
    assert (ended.data["status"], ended.data["receipts"][-1]["how"]) == ("succeeded", "person")
    assert refused(cli, *resolve, *seen, *full)[0] == 3
    cli.drive()
    assert cli.show()["state"] == "completed"


def test_a_doubt_is_not_refused_before_it_is_known(cli: Cli) -> None:
    assert refused(cli, "operations", "resolve", "op-1", "--as", "failed", "--expect-version", "1") == (4, "not_found")
    assert refused(cli, "operations", "list", "--status", "odd") == (2, "usage")
    assert refused(cli, "operations", "show", "op-1") == (4, "not_found")


def test_a_failed_step_is_retried_and_a_run_is_cancelled(cli: Cli) -> None:
    cli.submit("broken")
    cli.drive()
    run = cli.show()
    assert run["state"] == "parked"
    assert run["next_action"]["command"].startswith("counterfoil runs ")
    assert refused(cli, "runs", "resume", "run-1", "--raise", "odd=3") == (2, "usage")
    for amount in ("x", "1e9", "-1", "", "9" * 30, "NaN"):
        assert refused(cli, "runs", "resume", "run-1", "--raise", f"attempts={amount}") == (2, "usage")
    data = cli.json("runs", "retry", "run-1", "--by", "oscar").data
    assert missing(DECLARED["runs retry"].data, data) == []
    assert data["state"] == "pending"
    assert refused(cli, "runs", "retry", "run-1") == (3, "not_resumable")
    data = cli.json("runs", "cancel", "run-1", "--reason", "not wanted").data
    assert missing(DECLARED["runs cancel"].data, data) == []
    cli.drive()
    assert cli.show()["state"] == "cancelled"
    assert refused(cli, "runs", "show", "run-7") == (4, "not_found")
    assert refused(cli, "runs", "list", "--state", "odd") == (2, "usage")
    assert refused(cli, "runs", "list", "--cursor", "9" * 30) == (2, "usage")


def test_lists_are_read_page_by_page(cli: Cli) -> None:
    for number in ("1", "2", "3"):
        cli.submit("waits", number)
    first = cli.json("runs", "list", "--limit", "2").data
    rest = cli.json("runs", "list", "--limit", "2", "--cursor", str(first["next_cursor"])).data
    assert [run["number"] for run in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["next_cursor"] is None
    assert "--cursor" in cli("runs", "list", "--limit", "2").out


# ---------------------------------------------------------------------- people, signals, incidents, writes, restore


def test_people_are_added_with_a_secret_and_revoked(cli: Cli) -> None:
    (cli.folder / "s").write_text("a long secret\n")
    assert refused(cli, "people", "add", "eve", "--role", "buyer") == (2, "secret_missing")
    data = cli.json("people", "add", "eve", "--role", "buyer", "--role", "x", "--secret-file", "s").data
    assert missing(DECLARED["people add"].data, data) == []
    assert data["roles"] == ["buyer", "x"]
    assert "a long secret" not in (cli.folder / "counterfoil.db").read_bytes().decode(errors="replace")
    assert refused(cli, "people", "add", "eve", "--secret-file", "s") == (3, "person_exists")
    for file in ("nothing", ".", "empty", "binary", "long"):
        (cli.folder / "empty").write_text("")
        (cli.folder / "binary").write_bytes(b"\xff")
        (cli.folder / "long").write_text("x" * 5000)
        assert refused(cli, "people", "add", "zoe", "--secret-file", file) == (2, "usage")
    assert cli.json("people", "revoke", "eve").data["revoked_at"] is not None
    assert refused(cli, "people", "revoke", "nobody") == (4, "unknown_person")


def test_a_wrong_secret_decides_nothing_and_a_readable_one_is_not_used(cli: Cli) -> None:
    cli.submit("buy")
    cli.drive()
    digest = cli.json("reviews", "show", "1").data["digest"]
    answer = ("reviews", "approve", "1", "--digest", digest, "--by", "ana")
    cli.environ["COUNTERFOIL_SECRET"] = "wrong"
    assert refused(cli, *answer) == (3, "wrong_secret")
    del cli.environ["COUNTERFOIL_SECRET"]
    os.chmod(cli.folder / ".counterfoil" / "ana.secret", 0o644)
    assert refused(cli, *answer) == (2, "secret_missing")
    assert refused(cli, "reviews", "approve", "1", "--digest", digest, "--by", "../ana") == (2, "secret_missing")
    assert cli.json("reviews", "show", "1").data["state"] == "open"


def test_a_signal_is_stored_once(cli: Cli) -> None:
    cli.submit("waits")
    cli.drive()
    (cli.folder / "p.json").write_text('"yes"')
    send = ("signals", "send", "run-1", "go", "--signal-id", "s1")
    data = cli.json(*send, "--payload", "p.json").data
    assert missing(DECLARED["signals send"].data, data) == []
    assert data["admitted"] == "new"
    assert cli.json(*send, "--payload", "p.json").data["admitted"] == "existing"
    assert refused(cli, *send) == (3, "signal_conflict")
    assert refused(cli, *send, "--payload", "-", stdin=b"{") == (2, "malformed_json")
    assert refused(cli, "signals", "send", "run-9", "go", "--signal-id", "s") == (4, "not_found")
    assert refused(cli, "signals", "send", "run-1", "", "--signal-id", "s") == (2, "usage")
    cli.drive()
    run = cli.show()
    assert (run["state"], run["result"]) == ("completed", "yes")


def test_writes_are_suspended_and_resumed(cli: Cli, shop: SandboxProcess) -> None:
    suspend = ("writes", "suspend", "--by", "ana", "--reason", "a test")
    assert refused(cli, *suspend) == (2, "usage")
    assert refused(cli, *suspend, "--all", "--receiver", "shop") == (2, "usage")
    data = cli.json(*suspend, "--receiver", "shop").data
    assert missing(DECLARED["writes suspend"].data, data) == []
    cli.submit("letter")
    cli.drive()
    assert cli.show()["reason"] == "writes_suspended"
    status = cli.json("writes", "status").data
    assert missing(DECLARED["writes status"].data, status) == []
    assert status["suspended"] is True
    assert refused(cli, "writes", "resume", "--all", "--by", "ana", "--reason", "x") == (3, "not_suspended")
    assert refused(cli, "writes", "resume", "--receiver", "shop", "--by", "ana") == (2, "usage")
    resumed = cli.json("writes", "resume", "--receiver", "shop", "--by", "ana", "--reason", "over").data
    assert missing(DECLARED["writes resume"].data, resumed) == []
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1


def test_a_moved_database_is_suspended_until_a_person_finishes_it(cli: Cli, tmp_path: Path) -> None:
    assert refused(cli, "restore", "finish", "--as", "moved", "--by", "ana", "--reason", "x") == (3, "no_restore")
    cli.submit("letter")
    (tmp_path / "elsewhere").mkdir()
    os.rename(cli.folder / "counterfoil.db", tmp_path / "elsewhere" / "counterfoil.db")
    moved = ("--db", str(tmp_path / "elsewhere" / "counterfoil.db"))
    status = cli.json("restore", "status", *moved).data
    assert missing(DECLARED["restore status"].data, status) == []
    assert status["suspended"] is True
    finish = (
        "restore",
        "finish",
        "--by",
        "ana",
        "--reason",
        "I moved it",
        "--secret-file",
        ".counterfoil/ana.secret",
        *moved,
    )
    assert refused(cli, *finish, "--as", "odd") == (2, "usage")
    assert cli.json(*finish, "--as", "moved").data["suspended"] is False


def test_an_incident_that_is_not_there(cli: Cli) -> None:
    assert cli.json("incidents", "list", "--open").data["items"] == []
    assert refused(cli, "incidents", "close", "inc-1", "--by", "ana", "--reason", "x") == (4, "not_found")
    assert refused(cli, "incidents", "close", "inc-1", "--by", "ana") == (2, "usage")


# ---------------------------------------------------------------------- looking and checking


def test_explain_names_every_field(cli: Cli) -> None:
    for target in ("buy", "place_order", "app:buy", "./", None):
        data = cli.json("explain", *([target] if target else [])).data
        assert missing(DECLARED["explain"].data, data) == []
        assert data["items"]
    assert refused(cli, "explain", "nothing")[0] in (2, 4)


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
    assert refused(cli, "boundaries", "nothing") == (4, "not_found")


def test_checks_give_their_status(cli: Cli, tmp_path: Path) -> None:
    good = cli.json("doctor")
    assert missing(DECLARED["doctor"].data, good.data) == []
    assert len(good.data["promises"]) == 8
    cli.submit("waits")
    cli.drive()
    assert cli.json("verify", "--run", "run-1").status == 0
    assert refused(cli, "verify", "--run", "run-9") == (4, "not_found")
    ended = cli.json("conformance", "--db", str(tmp_path / "any.db"))
    assert missing(DECLARED["conformance"].data, ended.data) == []
    assert (ended.status, ended.data["failed"], ended.data["skipped"]) == (0, 0, 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["state", "tour"], "nothing is left behind"
    assert refused(cli, "conformance", "--db", "/nothing/at/all.db") == (2, "usage")


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
    assert refused(cli, "runs", "list") == (2, "usage")


def test_broken_code_does_not_stop_what_needs_none(cli: Cli) -> None:
    cli.submit("waits")
    (cli.folder / "app.py").write_text("print('noise on stdout')\nraise SystemExit(9)\n")
    ended = cli.json("runs", "list")
    assert [run["number"] for run in ended.data["items"]] == [1]
    assert ended.document["warnings"][0]["code"] == "app_not_found"
    assert "noise" in ended.err
    assert refused(cli, "worker", "--until-idle") == (2, "app_not_found")
    (cli.folder / "app.py").write_text(
        APP.replace('duplicate="costly", key=KEY', "key=KEY").replace('business_key="number",', "", 1)
    )
    assert refused(cli, "worker", "--until-idle") == (3, "no_business_key")


def test_databases_that_are_not_ours(cli: Cli) -> None:
    (cli.folder / "text.db").write_text("not a database, and long enough to have a header of sixteen bytes")
    (cli.folder / "empty.db").write_bytes(b"")
    (cli.folder / "half.db").write_bytes((cli.folder / "counterfoil.db").read_bytes()[:5000])
    for name, codes in {
        "text.db": {"not_ours"}, "empty.db": {"not_ours", "no_database"}, ".": {"not_ours", "no_database"},
        "half.db": {"not_ours", "storage_failed", "no_database"}, "nothing.db": {"no_database"},
        "no/folder/x.db": {"no_database"}, "postgresql://localhost/x": {"usage"}, "/dev/null": {"not_ours", "no_database"},
        "x" * 300: {"usage"},
    }.items():  # fmt: skip
        ended = cli.json("runs", "list", "--db", name)
        assert ended.code in codes, name
        assert ended.status in (2, 3, 4)


def test_the_demo_refuses_what_it_does_not_know(cli: Cli) -> None:
    for wrong in (("odd",), ("--receiver", "odd"), ("--fault", "odd"), ("--engine", "temporal")):
        assert refused(cli, "demo", *wrong) == (2, "usage")
    assert refused(cli, "demo", "--crash-at", "odd") == (2, "unknown_boundary")


def test_the_sandbox_refuses_what_it_does_not_know(cli: Cli) -> None:
    (cli.folder / "c.json").write_text('{"odd": 1}')
    for wrong in (
        (), ("--kind", "odd"), ("--kind", "key", "--contract", "c.json"), ("--contract", "c.json"), ("--kind", "key", "--fault", "odd"),
        ("--kind", "key", "--port", "99999"), ("--kind", "key", "--records", "/nothing/here"),
    ):  # fmt: skip
        assert refused(cli, "sandbox", *wrong) == (2, "usage"), wrong
