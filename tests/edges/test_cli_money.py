"""Keys, the report of a day, and a statement, from the command line."""

import json
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from counterfoil.cli.amounts import shown_amount
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


def key_file(cli: Cli) -> Path:
    return cli.folder / ".counterfoil" / "approval.key"


def bought(cli: Cli) -> None:
    cli.submit("buy")
    cli.drive()


def test_keys_are_listed_added_and_revoked(cli: Cli, tmp_path: Path) -> None:
    (first,) = cli.json("keys", "list").data["items"]
    assert (first["counts"], first["signed_by"], first["added_by"]) == (True, None, "init")
    assert cli.refused("keys", "revoke", first["key_id"], "--by", "ana") == (3, "last_approval_key")
    assert cli.refused("keys", "add", "--by", "ana") == (2, "usage")
    assert cli.refused("keys", "add", "--public-key", "zz", "--by", "ana") == (2, "usage")
    added = cli.json("keys", "add", "--file", str(tmp_path / "next.key"), "--by", "ana").data
    assert missing(DECLARED["keys add"].data, added) == []
    assert (added["signed_by"], (tmp_path / "next.key").stat().st_mode & 0o777) == (first["key_id"], 0o600)
    revoked = cli.json("keys", "revoke", first["key_id"], "--by", "ana", "--reason", "rotated").data
    assert missing(DECLARED["keys revoke"].data, revoked) == []
    assert revoked["counts"] is False
    assert cli.refused("keys", "revoke", "key_nothing", "--by", "ana") == (4, "not_found")
    assert missing(DECLARED["keys list"].data, cli.json("keys", "list").data) == []
    assert cli("keys", "list").status == 0


def test_an_approval_is_signed_with_the_named_key(cli: Cli, shop: SandboxProcess, tmp_path: Path) -> None:
    bought(cli)
    review = cli.json("reviews", "show", "rev-1").data
    asked = ("reviews", "approve", "rev-1", "--digest", review["digest"], "--by", "ana")
    kept = key_file(cli).rename(tmp_path / "kept.key")
    assert cli.refused(*asked) == (3, "approval_unsigned")
    cli.environ["COUNTERFOIL_APPROVAL_KEY"] = str(tmp_path / "nowhere.key")
    assert cli.refused(*asked) == (3, "approval_key_unusable")
    for wrong in ("no key", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"):
        (tmp_path / "wrong.key").write_text(wrong)
        (tmp_path / "wrong.key").chmod(0o600)
        cli.environ["COUNTERFOIL_APPROVAL_KEY"] = str(tmp_path / "wrong.key")
        assert cli.refused(*asked) == (3, "approval_key_unusable")
    kept.chmod(0o644)
    cli.environ["COUNTERFOIL_APPROVAL_KEY"] = str(kept)
    assert cli.refused(*asked) == (3, "approval_key_unusable")
    kept.chmod(0o600)
    assert cli.json(*asked).data["state"] == "approved"
    cli.drive()
    assert (cli.show()["state"], len(shop.records())) == ("completed", 1)
    assert cli.json("verify").data["sound"] is True


def test_doctor_says_whether_approvals_are_signed(cli: Cli) -> None:
    def said() -> dict[str, Any]:
        return next(c for c in cli.json("doctor").data["checks"] if c["code"] == "approval_keys")

    assert (said()["status"], "away from workers" in said()["message"]) == ("ok", True)
    key_file(cli).write_text("no key")
    assert said()["status"] == "warn"
    key_file(cli).unlink()
    assert said()["message"] == "1 approval keys count."


def test_who_submits_does_not_approve(cli: Cli, shop: SandboxProcess) -> None:
    cli.submit("buy", "1", "--by", "ana")
    cli.drive()
    digest = cli.json("reviews", "show", "rev-1").data["digest"]
    words = ("reviews", "approve", "rev-1", "--digest", digest)
    assert cli.refused(*words, "--by", "ana") == (3, "own_proposal")
    assert cli.json(*words, "--by", "oscar").data["state"] == "approved"
    assert "1 of 1: oscar" in cli("reviews", "show", "rev-1").out


def test_evidence_may_be_a_text_and_the_procedure_is_shown(cli: Cli) -> None:
    with SandboxProcess("none", fault="drop-reply") as sandbox:
        cli.environ["SHOP_URL"] = sandbox.url
        cli.submit("letter")
        cli.drive_to_a_stop("letter")
    operation = cli.json("operations", "show", "op-1").data
    assert (operation["status"], operation["contract"]["procedure"]) == ("unknown", "Ask the desk.")
    assert "Ask the desk." in cli("operations", "show", "op-1").out
    version = ("--expect-version", str(operation["version"]))
    words = ("operations", "resolve", "op-1", "--as", "failed", "--reason", "asked", "--by", "ana", *version)
    assert cli.refused(*words, "--evidence-text", "x", "--evidence", "file") == (2, "usage")
    resolved = cli.json(*words, "--evidence-text", "the desk never got it").data
    assert resolved["status"] == "failed"


def test_a_day_and_its_statement(cli: Cli, shop: SandboxProcess, tmp_path: Path) -> None:
    bought(cli)
    cli.approve()
    cli.drive()
    today = datetime.now(UTC).date().isoformat()
    report = cli.json("report", "--day", today).data
    assert missing(DECLARED["report"].data, report) == []
    (line,) = report["items"]
    assert (line["receiver"], line["operation"], line["currency"]) == ("shop", "place_order", None)
    counts = [line[kind]["count"] for kind in ("approved", "succeeded", "failed", "unknown")]
    assert counts == [1, 1, 0, 0]
    assert cli.json("report", "--day", "2020-01-01", "--zone", "Europe/Vienna").data["items"] == []
    assert cli.refused("report", "--day", "yesterday") == (2, "usage")
    assert cli.refused("report", "--zone", "Middle/Earth") == (2, "usage")
    assert cli("report").status == 0

    file = tmp_path / "june.csv"
    reference = cli.json("operations", "show", "op-1").data["receipts"][0]["reference"]
    file.write_text(f"id,net,made\n{reference},3.00,{datetime.now(UTC).isoformat()}\n")
    words = ("reconcile", "import", str(file), "--receiver", "shop", "--by", "oscar", "--column", "reference=id")
    words = (*words, "--column", "amount=net", "--column", "at=made")
    assert cli.json(*words).status == 1, "its amount has no currency"
    held = cli.json(*words, "--currency", "EUR")
    assert (held.status, held.data["matched"], held.data["sound"]) == (0, 1, True)
    assert missing(DECLARED["reconcile import"].data, held.data) == []
    listed = cli.json("reconcile", "list").data
    assert missing(DECLARED["reconcile list"].data, listed) == []
    assert len(listed["items"]) == 1
    assert cli(*words, "--currency", "EUR", "--dry-run").status == 0
    assert cli.refused(*words, "--column", "what=id") == (2, "usage")
    assert cli.refused(*words, "--only", "nothing") == (2, "usage")
    assert cli.refused("reconcile", "import", str(file), "--receiver", "nowhere", "--by", "oscar") == (
        2,
        "malformed_statement",
    )
    (tmp_path / "theirs.jsonl").write_text(json.dumps({"reference": "theirs"}))
    theirs = cli.json("reconcile", "import", str(tmp_path / "theirs.jsonl"), "--receiver", "shop", "--by", "oscar")
    assert (theirs.status, len(theirs.data["theirs_not_ours"])) == (1, 1)
    assert cli("reconcile", "import", str(tmp_path / "theirs.jsonl"), "--receiver", "shop", "--by", "oscar").status == 1
    assert cli("reconcile", "list").status == 0


@pytest.mark.parametrize(
    ("minor", "currency", "text"),
    [(1250, "EUR", "12.50 EUR"), (5, "EUR", "0.05 EUR"), (-5, "EUR", "-0.05 EUR"), (12, "JPY", "12 JPY"), (1, "KWD", "0.001 KWD"),
     (None, "EUR", None), (1, None, None)],
)  # fmt: skip
def test_amounts_as_people_read_them(minor: int | None, currency: str | None, text: str | None) -> None:
    assert shown_amount({"minor": minor, "currency": currency}) == text
    assert shown_amount(None) is None
