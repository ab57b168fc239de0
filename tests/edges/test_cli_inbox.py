"""`inbox` and `audit` on the command line, over real runs."""

import csv
import hashlib
import io
import json
from pathlib import Path

import pytest

from counterfoil.cli.command import DECLARED
from tests.edges.cli_bench import Cli, installed
from tests.edges.cli_shapes import missing


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    """A purchase that waits for its review, and a run that failed in a step."""
    cli = installed(tmp_path)
    cli.submit("buy")
    cli.submit("broken")
    cli.drive()
    return cli


def test_the_inbox_from_its_list_to_a_comment(cli: Cli) -> None:
    page = cli.json("inbox", "list").data
    assert missing(DECLARED["inbox list"].data, page) == []
    assert [(item["kind"], item["reason"]) for item in page["items"]] == [("review", "review"), ("run", "step_failed")]
    assert cli.json("inbox", "list", "--limit", "1").data["next_cursor"] is not None
    counts = cli.json("inbox", "counts").data
    assert missing(DECLARED["inbox counts"].data, counts) == [] and counts["total"] == 2
    taken = cli.json("inbox", "take", "rev-1", "--by", "ana").data
    assert missing(DECLARED["inbox take"].data, taken) == [] and taken["taken_by"] == "ana"
    assert cli.refused("inbox", "take", "rev-1", "--by", "oscar") == (3, "taken")
    assert cli.json("inbox", "hand-over", "rev-1", "--to", "buyer", "--by", "oscar").data["taken_by"] == "buyer"
    said = cli.json("inbox", "comment", "rev-1", "--text", "asked the shop", "--by", "oscar").data
    assert [each["text"] for each in said["said"]] == ["asked the shop"]
    assert missing(DECLARED["inbox show"].data, cli.json("inbox", "show", "rev-1").data) == []
    assert cli.json("inbox", "let-go", "rev-1", "--by", "ana").data["taken_by"] is None
    cli.json("inbox", "snooze", "run-2", "--until", "1h", "--reason", "lunch", "--by", "ana")
    assert [item["kind"] for item in cli.json("inbox", "list").data["items"]] == ["review"]
    assert len(cli.json("inbox", "list", "--snoozed").data["items"]) == 2
    assert cli.json("inbox", "let-go", "run-2", "--snooze", "--by", "ana").data["snoozed_until"] is None
    assert cli.refused("inbox", "show", "run-77") == (4, "not_found")
    assert cli.refused("inbox", "take", "rev-1") == (2, "usage")
    for words in (("list",), ("counts",), ("show", "rev-1"), ("preview", "cancel")):
        assert "rev-1" in cli("inbox", *words).out or words == ("counts",)
    assert "2 things need a person" in cli("inbox", "counts").out
    listed = cli("inbox", "list").out
    assert "answer_review" in listed and "counterfoil inbox show rev-1" in listed
    assert max(map(len, listed.splitlines())) <= 120 and len(listed.splitlines()) < 12


def test_what_an_item_prints_works_as_printed(cli: Cli) -> None:
    item = cli.json("inbox", "list", "--reason", "review").data["items"][0]
    assert cli.typed(item["next_action"]["command"]).status == 0
    assert cli.json("inbox", "list", "--reason", "review").data["items"] == []


def test_many_are_cancelled_by_a_filter_that_was_previewed(cli: Cli) -> None:
    seen = cli.json("inbox", "preview", "cancel").data
    assert missing(DECLARED["inbox preview"].data, seen) == [] and seen["count"] == 2
    carry = ("inbox", "carry-out", "cancel", "--by", "ana", "--why", "not wanted")
    assert cli.refused(*carry, "--count", "3") == (3, "selection_changed")
    assert cli.refused(*carry, "--count", "2", "--digest", "sha256:0") == (3, "selection_changed")
    done = cli.json(*carry, "--count", "2", "--digest", seen["digest"]).data
    assert missing(DECLARED["inbox carry-out"].data, done) == []
    assert len(done["done"]) == 2 and done["refused"] == []
    cli.drive()
    assert cli.json("inbox", "list").data["items"] == []
    assert "Nothing needs a person" in cli("inbox", "list").out
    assert cli.refused("inbox", "preview", "resolve") == (2, "usage")


def test_the_audit_is_listed_and_exported(cli: Cli, tmp_path: Path) -> None:
    cli.json("inbox", "comment", "rev-1", "--text", 'a\nb, "c"', "--by", "ana")
    page = cli.json("audit", "list", "--person", "ana").data
    assert missing(DECLARED["audit list"].data, page) == []
    assert page["items"][0]["what"] == 'said: a\nb, "c"'
    assert "tended" in cli("audit", "list").out
    told = cli.json("audit", "export", "--out", "acts.jsonl").data
    written = (cli.folder / "acts.jsonl").read_bytes()
    assert missing(DECLARED["audit export"].data, told) == []
    assert told["digest"] == f"sha256:{hashlib.sha256(written).hexdigest()}"
    lines = [json.loads(line) for line in written.splitlines()]
    assert len(lines) == told["lines"] and lines[0] == page["items"][0]
    cli.json("audit", "export", "--out", "acts.csv", "--format", "csv", "--verb", "tended")
    rows = list(csv.DictReader(io.StringIO((cli.folder / "acts.csv").read_text())))
    assert [(row["person"], row["what"], row["digest"]) for row in rows] == [
        ("ana", 'said: a\nb, "c"', lines[0]["digest"])
    ]
    assert cli.refused("audit", "export", "--out", "acts.csv") == (2, "usage"), "an earlier export is not written over"
    assert cli.refused("audit", "list", "--verb", "step") == (2, "usage")


def test_anything_is_found_by_one_text(cli: Cli) -> None:
    cli.json("inbox", "take", "rev-1", "--by", "ana")
    found = cli.json("find", "ana").data
    assert missing(DECLARED["find"].data, found) == []
    assert {(hit["kind"], hit["matched"]) for hit in found["items"]} >= {("person", "person"), ("review", "works on")}
    (hit,) = [hit for hit in cli.json("find", "1").data["items"] if hit["matched"] == "business key"]
    assert (hit["kind"], hit["title"]) == ("operation", "shop test place_order 1")
