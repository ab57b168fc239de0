"""`counterfoil conversations`: each command as a person types it, its answer against its shape, its refusals."""

import json
from pathlib import Path
from typing import Any

import pytest

from counterfoil.cli.command import DECLARED
from tests.edges.cli_bench import Cli, Ended, installed
from tests.edges.cli_shapes import missing

APP = """
from datetime import timedelta
from counterfoil import App, Budget, Run
from counterfoil.model.conversation import Turn

app = App("talks")
BUDGET = Budget(attempts=2, elapsed=timedelta(days=2), spend_usd=1, owner="desk")

async def answer(run: Run, turn: Turn) -> str:
    await run.message("user", turn.text)
    if turn.text.startswith("wait"):
        await run.wait_for("go", str, within=timedelta(hours=1))
    if turn.text == "fail":
        raise ValueError("as it was told")
    await run.message("agent", f"heard {turn.text}")
    return f"heard {turn.text}"

@app.workflow(version=1, budget=BUDGET)
async def refunds(run: Run, turn: Turn) -> str:
    return await answer(run, turn)

@app.workflow(version=1, budget=BUDGET)
async def complaints(run: Run, turn: Turn) -> str:
    return await answer(run, turn)
"""

KEEPING = """
from pydantic import BaseModel

class Notes(BaseModel):
    lines: list[str] = []

notes = app.document("notes", Notes)

@app.workflow(version=1, budget=BUDGET)
async def keeper(run: Run, turn: Turn) -> int:
    written = await notes.change(run, lambda seen: Notes(lines=[*seen.lines, turn.text]))
    return written.version
"""


@pytest.fixture
def cli(tmp_path: Path) -> Cli:
    return installed(tmp_path, app=APP)


def ok(cli: Cli, *argv: str, stdin: bytes = b"", status: int = 0) -> Any:
    """The data of a command, which has every field that its page names."""
    ended = cli.json("conversations", *argv, stdin=stdin)
    assert ended.status == status, ended
    shape = DECLARED[f"conversations {argv[0]}"].data
    assert missing(shape, ended.data) == []
    return ended.data


def said(cli: Cli, *argv: str) -> Ended:
    """As a person sees it."""
    ended = cli("conversations", *argv)
    assert ended.status == 0, ended
    return ended


def send(cli: Cli, text: str, *more: str, agent: str = "refunds", status: int = 0) -> Any:
    options = ("--conversation", "anna", "--request-id", f"r {text}", *more)
    return ok(cli, "send", agent, text, *options, status=status)


def test_a_conversation_from_its_first_message_on(cli: Cli) -> None:
    first = send(cli, "hello")
    assert (first["admitted"], first["turn"], first["state"]) == ("new", 1, "pending")
    cli.drive()
    told = send(cli, "hello", "--wait", "0")
    assert (told["admitted"], told["state"], told["result"]) == ("existing", "completed", "heard hello")
    assert cli.refused(
        "conversations", "send", "refunds", "other", "--conversation", "anna", "--request-id", "r hello"
    ) == (3, "request_conflict")
    from_file = ok(
        cli, "send", "refunds", "--file", "-", "--conversation", "anna", "--request-id", "f", stdin="grüße".encode()
    )
    cli.drive()
    shown = ok(cli, "show", "anna")
    assert [turn["text"] for turn in shown["transcript"]["items"]] == ["hello", "grüße"]
    assert from_file["turn"] == 2 and shown["transcript"]["next_cursor"] is None
    page = ok(cli, "show", "anna", "--limit", "1")["transcript"]
    assert ([turn["n"] for turn in page["items"]], page["next_cursor"]) == ([2], 2)
    assert [t["n"] for t in ok(cli, "show", "anna", "--cursor", "2")["transcript"]["items"]] == [1]
    assert [each["name"] for each in ok(cli, "list")["items"]] == ["anna"]
    drawn = said(cli, "show", "conversation-1").out
    assert "user: hello" in drawn and "agent: heard grüße" in drawn
    assert "anna" in said(cli, "list").out


def test_what_is_refused_changes_nothing(cli: Cli) -> None:
    named = ("--conversation", "anna", "--request-id", "r")
    bad = [
        (("send", "refunds", "x", "--conversation", "anna"), (2, "usage")),
        (("send", "refunds", "x", "--request-id", "r"), (2, "usage")),
        (("send", "refunds", *named), (2, "usage")),
        (("send", "refunds", "x", "--file", "-", *named), (2, "usage")),
        (("send", "nobody", "x", *named), (2, "unknown_workflow")),
        (("send", "refunds", "x", "--when-busy", "later", *named), (2, "bad_setting")),
        (("show", "anna"), (4, "not_found")),
        (("fork", "anna", "--into", "b"), (4, "not_found")),
        (("watch", "anna"), (4, "not_found")),
        (("export", "anna", "--out", "x.jsonl"), (4, "not_found")),
    ]
    for argv, answer in bad:
        status, code = cli.refused("conversations", *argv)
        assert code == answer[1] and status in (2, 3, 4), (argv, status, code)
    assert ok(cli, "list")["items"] == []


def test_while_a_turn_is_at_work(cli: Cli) -> None:
    first = send(cli, "wait")
    busy = cli.refused("conversations", "send", "refunds", "x", "--conversation", "anna", "--request-id", "r x")
    assert busy == (3, "conversation_busy")
    assert send(cli, "2", "--when-busy", "follow_up")["admitted"] == "follow_up"
    steer = send(cli, "3", "--when-busy", "steer")
    assert (steer["admitted"], steer["into"]) == ("steer", first["run_id"])
    cli.drive()
    shown = ok(cli, "show", "anna")
    assert (shown["at_work"]["run_id"], shown["queued"]) == (first["run_id"], 2)
    aborted = ok(cli, "abort", "anna", "--reason", "enough")
    assert (aborted["run_id"], aborted["heading"], len(aborted["kept"])) == (first["run_id"], "cancelled", 2)
    cli.drive()
    shown = ok(cli, "show", "anna")
    states = [(turn["state"], turn["kind"]) for turn in shown["transcript"]["items"]]
    assert states == [("cancelled", "message"), ("completed", "message"), ("completed", "message")]
    assert cli.refused("conversations", "abort", "anna") == (3, "nobody_at_work")


def test_forks_resets_handoffs_and_settings(cli: Cli) -> None:
    send(cli, "one")
    assert cli.refused("conversations", "fork", "anna", "--into", "other") == (3, "turn_open")
    cli.drive()
    send(cli, "two")
    cli.drive()
    forked = ok(cli, "fork", "anna", "--into", "other", "--at", "1")
    assert forked["forked_from"]["name"] == "anna" and "turn 1" in said(cli, "show", "other").out
    assert cli.refused("conversations", "fork", "anna", "--into", "b", "--at", "9") == (2, "no_such_turn")
    assert ok(cli, "reset", "anna", "--reason", "new matter")["next"] == "reset"
    assert ok(cli, "handoff", "other", "--to", "complaints", "--note", "angry")["agent"] == "complaints"
    assert cli.refused("conversations", "handoff", "other", "--to", "nobody")[1] == "unknown_workflow"
    assert send(cli, "three", "--conversation", "other", agent="complaints")["turn"] == 2
    changed = ok(cli, "settings", "anna", "--set", "when_busy=follow_up", "--set", "length=3")
    assert changed["settings"] == {"when_busy": "follow_up", "length": 3}
    assert ok(cli, "settings", "anna", "--set", "length=null")["settings"] == {"when_busy": "follow_up"}
    assert cli.refused("conversations", "settings", "anna", "--set", "when_busy=no") == (2, "bad_setting")
    assert cli.refused("conversations", "settings", "anna", "--set", "x") == (2, "usage")
    acts = cli.json("audit", "list", "--verb", "conversation").data["items"]
    assert acts == [], "nobody was named"
    ok(cli, "reset", "other", "--by", "ana")
    (act,) = cli.json("audit", "list", "--verb", "conversation").data["items"]
    assert (act["person"], act["what"]) == ("ana", "reset the conversation other")


def test_a_file_is_imported_once_or_not_at_all(cli: Cli) -> None:
    send(cli, "one")
    cli.drive()
    written = ok(cli, "export", "anna", "--out", "anna.jsonl")
    lines = (cli.folder / "anna.jsonl").read_text().splitlines()
    assert written["lines"] == len(lines) and json.loads(lines[0])["name"] == "anna"
    assert cli("conversations", "export", "anna", "--out", "anna.jsonl").status != 0
    assert cli.refused("conversations", "import", "anna.jsonl") == (3, "conversation_exists")
    taken = ok(cli, "import", "anna.jsonl", "--name", "copy")
    assert (taken["admitted"], taken["turns"]) == ("new", 1)
    assert ok(cli, "import", "anna.jsonl", "--name", "copy")["admitted"] == "existing"
    (cli.folder / "bad.jsonl").write_text("\n".join([*lines[:2], "{", *lines[3:]]) + "\n")
    ended = cli.json("conversations", "import", "bad.jsonl", "--name", "bad")
    assert ended.code == "malformed_export" and "Line 3 " in ended.document["error"]["message"]
    assert [each["name"] for each in ok(cli, "list")["items"]] == ["copy", "anna"]
    answered = send(cli, "two", "--conversation", "copy")
    cli.drive()
    assert answered["turn"] == 2 and "heard one" in said(cli, "show", "copy").out


def test_a_watch_is_resumed_where_it_was_left(cli: Cli) -> None:
    send(cli, "one")
    cli.drive()
    first = ok(cli, "watch", "anna")
    assert [item["type"] for item in first["items"]] == ["snapshot"]
    send(cli, "two")
    cli.drive()
    more = ok(cli, "watch", "anna", "--position", first["position"])
    assert {item["n"] for item in more["items"]} == {2} and more["items"][-1]["kind"] == "finished"
    assert ok(cli, "watch", "anna", "--position", more["position"])["items"] == []
    assert cli.refused("conversations", "watch", "anna", "--position", "nowhere") == (2, "usage")
    drawn = said(cli, "watch", "anna", "--idle").out
    assert "user: two" in drawn and more["position"] in drawn


def test_documents_are_listed_and_shown_with_their_writers(tmp_path: Path) -> None:
    cli = installed(tmp_path, app=APP + KEEPING)
    assert cli("documents", "list").out.strip() == "No document was written yet."
    for n in (1, 2):
        ok(cli, "send", "keeper", f"note {n}", "--conversation", "anna", "--request-id", f"n-{n}")
        cli.drive()
    (listed,) = cli.json("documents", "list").data["items"]
    assert missing(DECLARED["documents list"].data, cli.json("documents", "list").data) == []
    shown = cli.json("documents", "show", f"doc-{listed['number']}").data
    assert missing(DECLARED["documents show"].data, shown) == []
    assert [(each["version"], each["written_by"]["request_id"]) for each in shown["versions"]] == [
        (2, "n-2"),
        (1, "n-1"),
    ]
    (only,) = cli.json("documents", "show", listed["document_id"], "--version", "1").data["versions"]
    assert only["body"] == {"lines": ["note 1"]}
    assert "doc-1" in cli("documents", "list").out and "note 2" in cli("documents", "show", "doc-1").out
    assert cli.json("documents", "show", "doc-9").code == "not_found"
    (of_talk,) = ok(cli, "show", "anna")["documents"]
    assert (of_talk["name"], of_talk["version"]) == ("notes", 2)
    assert "working context: notes (doc-1, conversation), version 2" in said(cli, "show", "anna").out
    assert [hit["kind"] for hit in cli.json("find", "doc-1").data["items"]] == ["document"]
    for text in ("anna", of_talk["key"], "conversation-1"):
        (hit,) = cli.json("find", text).data["items"]
        assert (hit["kind"], hit["title"]) == ("conversation", "anna")
