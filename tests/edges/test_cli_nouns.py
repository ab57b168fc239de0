"""Every noun on a real database: what its commands give, and what they refuse."""

import os
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


def test_the_way_of_an_approved_order(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("buy")
    cli.drive()
    listed = cli.json("reviews", "list").data
    assert missing(DECLARED["reviews list"].data, listed) == []
    review = cli.json("reviews", "show", "rev-1").data
    assert missing(DECLARED["reviews show"].data, review) == []
    assert review["payload"] == {"number": "1", "item": "tea"}
    assert cli.refused("reviews", "approve", "rev-1", "--digest", "sha256:" + "0" * 64, "--by", "ana") == (
        3,
        "digest_mismatch",
    )
    answered = cli.approve("--comment", "fine")
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
    assert cli.refused("reviews", "withdraw", "rev-1", "--by", "ana")[0] == 3
    assert cli.refused("runs", "cancel", "run-1") == (3, "run_ended")
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
    assert cli.refused("reviews", "list", "--state", "odd") == (2, "usage")
    assert cli.refused("reviews", "show", "rev-99") == (4, "not_found")


def test_a_doubt_is_resolved_with_evidence(cli: Cli) -> None:
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        run = cli.drive_to_a_stop("letter")
        record = sandbox.records()[0]
    assert (run["state"], run["reason"]) == ("parked", "outcome_unknown")
    operation = cli.json("operations", "show", "op-1").data
    seen = ("--expect-version", str(operation["version"]))
    assert cli.refused("operations", "lookup", "op-1") == (3, "no_lookup")
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
        assert cli.refused(*resolve, *seen, *given) == (2, "usage")
    assert cli.refused(*resolve, "--expect-version", "0", *full) == (3, "stale_version")
    assert cli.refused(*resolve, "--expect-version", "9" * 40, *full) == (2, "usage")
    assert cli.refused("operations", "resolve", "op-1", "--as", "odd", *seen, *full) == (2, "usage")
    assert cli.refused(*resolve, *seen, *full[:-1], "nobody") == (2, "secret_missing")
    ended = cli.json(*resolve, *seen, *full)
    assert missing(DECLARED["operations resolve"].data, ended.data) == []
    assert (ended.data["status"], ended.data["receipts"][-1]["how"]) == ("succeeded", "person")
    assert cli.refused(*resolve, *seen, *full)[0] == 3
    cli.drive()
    assert cli.show()["state"] == "completed"


def test_a_receiver_is_asked_again(cli: Cli) -> None:
    with SandboxProcess("lookup", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("parcel")
        assert cli.drive_to_a_stop("parcel")["state"] == "completed"
        asked = int(str(sandbox.get("")["lookups"]))
        ended = cli.json("operations", "lookup", "op-1")
        assert sandbox.get("")["lookups"] == asked + 1
        assert len(sandbox.records()) == 1
    assert missing(DECLARED["operations lookup"].data, ended.data) == []
    assert (ended.status, ended.data["status"], ended.data["receipts"][0]["how"]) == (0, "succeeded", "lookup")
    assert cli.json("operations", "lookup", "op-1").status == 0, "a receiver that cannot be reached proves nothing"
    assert cli.refused("operations", "lookup", "op-1", "--app", "nothing_here") == (2, "app_not_found")


def test_a_doubt_is_not_refused_before_it_is_known(cli: Cli) -> None:
    assert cli.refused("operations", "resolve", "op-1", "--as", "failed", "--expect-version", "1") == (4, "not_found")
    assert cli.refused("operations", "list", "--status", "odd") == (2, "usage")
    assert cli.refused("operations", "show", "op-1") == (4, "not_found")


def test_a_failed_step_is_retried_and_a_run_is_cancelled(cli: Cli) -> None:
    cli.submit("broken")
    cli.drive()
    run = cli.show()
    assert run["state"] == "parked"
    assert run["next_action"]["command"].startswith("counterfoil runs ")
    assert cli.refused("runs", "resume", "run-1", "--raise", "odd=3") == (2, "usage")
    for amount in ("x", "1e9", "-1", "", "9" * 30, "NaN"):
        assert cli.refused("runs", "resume", "run-1", "--raise", f"attempts={amount}") == (2, "usage")
    data = cli.json("runs", "retry", "run-1", "--by", "oscar").data
    assert missing(DECLARED["runs retry"].data, data) == []
    assert data["state"] == "pending"
    assert cli.refused("runs", "retry", "run-1") == (3, "not_resumable")
    data = cli.json("runs", "cancel", "run-1", "--reason", "not wanted").data
    assert missing(DECLARED["runs cancel"].data, data) == []
    cli.drive()
    assert cli.show()["state"] == "cancelled"
    assert cli.refused("runs", "show", "run-7") == (4, "not_found")
    assert cli.refused("runs", "list", "--state", "odd") == (2, "usage")
    assert cli.refused("runs", "list", "--cursor", "9" * 30) == (2, "usage")


def test_lists_are_read_page_by_page(cli: Cli) -> None:
    for number in ("1", "2", "3"):
        cli.submit("waits", number)
    first = cli.json("runs", "list", "--limit", "2").data
    rest = cli.json("runs", "list", "--limit", "2", "--cursor", str(first["next_cursor"])).data
    assert [run["number"] for run in first["items"] + rest["items"]] == [3, 2, 1]
    assert rest["next_cursor"] is None
    assert "--cursor" in cli("runs", "list", "--limit", "2").out


def test_people_are_added_with_a_secret_and_revoked(cli: Cli) -> None:
    (cli.folder / "s").write_text("a long secret\n")
    assert cli.refused("people", "add", "eve", "--role", "buyer") == (2, "secret_missing")
    data = cli.json("people", "add", "eve", "--role", "buyer", "--role", "x", "--secret-file", "s").data
    assert missing(DECLARED["people add"].data, data) == []
    assert data["roles"] == ["buyer", "x"]
    assert "a long secret" not in (cli.folder / "counterfoil.db").read_bytes().decode(errors="replace")
    assert cli.refused("people", "add", "eve", "--secret-file", "s") == (3, "person_exists")
    for file in ("nothing", ".", "empty", "binary", "long"):
        (cli.folder / "empty").write_text("")
        (cli.folder / "binary").write_bytes(b"\xff")
        (cli.folder / "long").write_text("x" * 5000)
        assert cli.refused("people", "add", "zoe", "--secret-file", file) == (2, "usage")
    assert cli.json("people", "revoke", "eve").data["revoked_at"] is not None
    assert cli.refused("people", "revoke", "nobody") == (4, "unknown_person")


def test_a_wrong_secret_decides_nothing_and_a_readable_one_is_not_used(cli: Cli) -> None:
    cli.submit("buy")
    cli.drive()
    digest = cli.json("reviews", "show", "1").data["digest"]
    answer = ("reviews", "approve", "1", "--digest", digest, "--by", "ana")
    cli.environ["COUNTERFOIL_SECRET"] = "wrong"
    assert cli.refused(*answer) == (3, "wrong_secret")
    del cli.environ["COUNTERFOIL_SECRET"]
    os.chmod(cli.folder / ".counterfoil" / "ana.secret", 0o644)
    assert cli.refused(*answer) == (2, "secret_missing")
    assert cli.refused("reviews", "approve", "1", "--digest", digest, "--by", "../ana") == (2, "secret_missing")
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
    assert cli.refused(*send) == (3, "signal_conflict")
    assert cli.refused(*send, "--payload", "-", stdin=b"{") == (2, "malformed_json")
    assert cli.refused("signals", "send", "run-9", "go", "--signal-id", "s") == (4, "not_found")
    assert cli.refused("signals", "send", "run-1", "", "--signal-id", "s") == (2, "usage")
    cli.drive()
    run = cli.show()
    assert (run["state"], run["result"]) == ("completed", "yes")


def test_writes_are_suspended_and_resumed(cli: Cli, shop: SandboxProcess) -> None:
    suspend = ("writes", "suspend", "--by", "ana", "--reason", "a test")
    assert cli.refused(*suspend) == (2, "usage")
    assert cli.refused(*suspend, "--all", "--receiver", "shop") == (2, "usage")
    assert cli.refused(*suspend, "--receiver", "shp") == (4, "not_found"), "it would stop nothing"
    data = cli.json(*suspend, "--receiver", "shop").data
    assert missing(DECLARED["writes suspend"].data, data) == []
    cli.submit("letter")
    cli.drive()
    assert cli.show()["reason"] == "writes_suspended"
    status = cli.json("writes", "status").data
    assert missing(DECLARED["writes status"].data, status) == []
    assert status["suspended"] is True
    assert cli.refused("writes", "resume", "--all", "--by", "ana", "--reason", "x") == (3, "not_suspended")
    assert cli.refused("writes", "resume", "--receiver", "shop", "--by", "ana") == (2, "usage")
    resumed = cli.json("writes", "resume", "--receiver", "shop", "--by", "ana", "--reason", "over").data
    assert missing(DECLARED["writes resume"].data, resumed) == []
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1


def test_a_receiver_is_paused_and_resumed(cli: Cli, shop: SandboxProcess) -> None:
    pause = ("receivers", "pause", "shop", "--by", "ana")
    resume = ("receivers", "resume", "shop", "--by", "ana")
    assert cli.refused(*pause) == (2, "usage")
    assert cli.refused("receivers", "pause", "shp", "--by", "ana", "--reason", "x") == (4, "not_found")
    assert cli.refused(*resume, "--reason", "x") == (3, "not_paused")
    data = cli.json(*pause, "--reason", "they move house").data
    assert missing(DECLARED["receivers pause"].data, data) == [] and data["paused"]["by"] == "ana"
    cli.submit("letter")
    cli.drive()
    status = cli.json("receivers", "status").data
    assert missing(DECLARED["receivers status"].data, status) == []
    waits = next(each for each in status["items"] if each["receiver"] == "shop")
    assert waits["waiting"] == 1 and waits["paused"]["sentence"].endswith(": they move house")
    assert cli("receivers", "status").status == 0 and shop.records() == []
    run = cli.show()
    assert (run["state"], run["sentence"]) == ("waiting", waits["paused"]["sentence"])
    resumed = cli.json(*resume, "--reason", "over").data
    assert missing(DECLARED["receivers resume"].data, resumed) == [] and resumed["paused"] is None
    cli.drive()
    assert cli.show()["state"] == "completed"
    assert len(shop.records()) == 1


def test_a_moved_database_is_suspended_until_a_person_finishes_it(cli: Cli, tmp_path: Path) -> None:
    assert cli.refused("restore", "finish", "--as", "moved", "--by", "ana", "--reason", "x") == (3, "no_restore")
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
    assert cli.refused(*finish, "--as", "odd") == (2, "usage")
    assert cli.json(*finish, "--as", "moved").data["suspended"] is False


def test_an_incident_that_is_not_there(cli: Cli) -> None:
    assert cli.json("incidents", "list", "--open").data["items"] == []
    assert cli.refused("incidents", "close", "inc-1", "--by", "ana", "--reason", "x") == (4, "not_found")
    assert cli.refused("incidents", "close", "inc-1", "--by", "ana") == (2, "usage")


def test_a_stand_in_answers_and_does_not_resolve_what_was_approved_so(cli: Cli) -> None:
    (cli.folder / "secret").write_text("a stand-in's own secret")
    zoe = ("--by", "zoe", "--secret-file", "secret")
    added = cli.json("people", "add", "zoe", "--stand-in-for", "ana", "--secret-file", "secret").data
    assert (added["roles"], added["stand_in_for"]) == ([], "ana")
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        app = (cli.folder / "app.py").read_text()
        review = 'review=ReviewBy(role="buyer", expires_in=timedelta(hours=8), owner="desk"))'
        (cli.folder / "app.py").write_text(
            app.replace('owner="desk")\nasync def send_letter', f"{review}\nasync def send_letter")
        )
        cli.submit("letter")
        cli.drive()
        (asked,) = cli.json("reviews", "list", "--state", "open").data["items"]
        answer = ("reviews", "approve", asked["review_id"], "--digest", asked["digest"], *zoe)
        assert cli.json(*answer).data["state"] == "approved"
        run = cli.drive_to_a_stop("letter")
        assert run["reason"] == "outcome_unknown"
    (cli.folder / "proof.txt").write_text("seen at the desk")
    version = str(run["records"]["operations"][0]["version"])
    said = ("--reference", "letter-1", "--reason", "seen", "--evidence", "proof.txt", "--expect-version", version)
    resolve = ("operations", "resolve", "op-1", "--as", "succeeded", *said)
    assert cli.refused(*resolve, *zoe) == (3, "own_action")
    assert cli.refused(*resolve, "--by", "ana") == (3, "own_action"), "her stand-in's approval counts as hers"
    assert "--by oscar" in run["next_action"]["command"]
    assert cli.json(*resolve, "--by", "oscar").data["status"] == "succeeded"


def test_a_receiver_that_answers_garbage_is_a_doubt(cli: Cli) -> None:
    with SandboxProcess("none", fault="garbage") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        run = cli.drive_to_a_stop("letter")
        assert len(sandbox.records()) == 1, "nothing is sent a second time"
    assert (run["state"], run["reason"]) == ("parked", "outcome_unknown")
    (attempt,) = run["records"]["operations"][0]["attempts"]
    assert (attempt["sent"], attempt["answer"]) == ("maybe", {"status": None, "class": "ambiguous"})
