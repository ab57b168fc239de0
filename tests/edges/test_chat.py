"""`counterfoil chat` on a terminal of its own: its worker killed in mid-answer, a review answered in place, an abort, its own death."""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import ExitStack
from typing import Any

import pytest

from counterfoil.testing.model_server.process import ModelServerProcess
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.chat_bench import APP, COMMAND, PATIENCE_S, Chat
from tests.edges.cli_bench import Cli, installed

RULES: list[dict[str, Any]] = [
    {"when": "harbour", "answer": {"text": "Answer {n}: it opens at seven, and closes when the last boat is in."}},
    {"when": "refund (?P<o>o-\\d+)", "answer": {"text": "Let me see.", "calls": [
        {"tool": "look", "arguments": {"order": "{o}"}}, {"tool": "refund", "arguments": {"order": "{o}"}}]}},
    {"when": "letter (?P<o>o-\\d+)", "answer": {"calls": [
        {"tool": "note", "arguments": {"text": "a letter"}}, {"tool": "letter", "arguments": {"order": "{o}"}}]}},
    {"when": "chair", "answer": {"text": "It is paid back."}},
]  # fmt: skip


class House:
    """An installation, a model that can hold an answer back, and a bank."""

    def __init__(self, cli: Cli, model: ModelServerProcess, bank: SandboxProcess) -> None:
        self.cli, self.model, self.bank = cli, model, bank

    def worker(self) -> "subprocess.Popen[bytes]":
        """A worker of its own, once it listens."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
        worker = subprocess.Popen(
            [*COMMAND, "worker"], cwd=self.cli.folder, env=clean | self.cli.environ, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        assert worker.stderr is not None and b"drives the runs of" in worker.stderr.readline()
        return worker

    def workers(self) -> list[dict[str, Any]]:
        return [each for each in self.cli.json("workers", "list").data["items"] if each["alive"]]

    def run(self, conversation: str) -> dict[str, Any]:
        """RUN of the conversation's only turn."""
        (turn,) = self.cli.json("conversations", "show", conversation).data["transcript"]["items"]
        return self.cli.json("runs", "show", turn["run_id"]).data

    def kinds(self, conversation: str) -> list[str]:
        return [each["kind"] for each in self.run(conversation)["records"]["execution_state"]["entries"]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Generator[House]:
    folder = tmp_path_factory.mktemp("chat")
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": RULES}))
    cli = installed(folder, app=APP)
    with ExitStack() as stack:
        model = stack.enter_context(ModelServerProcess(script=script))
        bank = stack.enter_context(SandboxProcess("key"))
        cli.environ |= model.environment | {"BANK_URL": bank.url}
        yield House(cli, model, bank)


def test_its_worker_is_killed_in_mid_answer(house: House) -> None:
    """Another one takes over; the terminal shows the finished answer once, and nothing of the one that was lost."""
    asked = house.model.requests_answered()
    house.model.fault("hold-stream")
    with Chat(house.cli, "helper", "--conversation", "killed") as chat:
        chat.types("When does the harbour open?")
        chat.reads(rf"\(provisional\): Answer {asked + 1}: it")
        assert house.kinds("killed")[-1] == "asked"
        (worker,) = house.workers()
        assert worker["pid"] != chat.child.pid
        os.kill(worker["pid"], signal.SIGKILL)
        house.model.release()
        chat.reads("completed")
        (other,) = house.workers()
        assert other["pid"] != worker["pid"]
        chat.types("/quit")
        assert chat.ends() == 0
        shown = chat.display.text
    final = f"helper: Answer {asked + 2}: it opens at seven, and closes when the last boat is in."
    assert shown.count(final) == 1 and shown.count("it opens at seven") == 1
    assert f"Answer {asked + 1}" not in shown and "provisional" not in shown
    assert shown.count("When does the harbour open?") == 1 and "It was asked 2 times; 1 without an answer." in shown
    kinds = house.kinds("killed")
    assert (kinds.count("asked"), kinds.count("lost"), kinds.count("decision")) == (2, 1, 1)
    assert house.model.requests_answered() == asked + 2


def test_a_review_is_answered_in_place(house: House) -> None:
    """Whoever speaks may not approve what came of it; somebody else does, and the receiver holds one record."""
    with Chat(house.cli, "helper", "--conversation", "review", "--by", "ana") as chat:
        chat.types("refund o-7")
        digest = chat.reads(r"digest +(sha256:[0-9a-f]{64})")[1]
        chat.reads("You proposed this; somebody else approves it.")
        review = house.cli.json("reviews", "list", "--state", "open").data["items"][0]
        assert review["digest"] == digest and house.bank.get("records")["records"] == []
        for told in (
            "payload\norder  o-7",
            "draft 1 open",
            f"rev-{review['number']}",
            "role +manager",
            "look.*safe.*done",
        ):
            chat.reads(told)
        chat.types("/approve")
        chat.reads("own_proposal")
        chat.types("/approve Good.")
        chat.reads("Who are you:$")
        chat.types("oscar")
        chat.reads("is approved")
        chat.reads(r"refund\(order=o-7\) \[operation\]: op-\d+ succeeded, refund-\d+ \(reply\)")
        chat.reads("helper: It is paid back.")
        chat.reads("run-[0-9]+ completed")
        chat.types("/usage")
        chat.reads(r"spend \(this turn\) +0 of 1")
        chat.keys("\x04")
        assert chat.ends() == 0
        assert chat.display.text.count("It is paid back.") == chat.display.text.count("Let me see.") == 1
    (record,) = house.bank.get("records")["records"]  # type: ignore[misc]
    (operation,) = house.run("review")["records"]["operations"]
    assert record["payload_digest"] == operation["payload_digest"] == digest  # type: ignore[index]
    answered = house.cli.json("reviews", "show", review["review_id"]).data
    assert (answered["reviewer"], answered["comment"]) == ("oscar", "Good.")


def test_ctrl_c_aborts_once_and_leaves_twice(house: House) -> None:
    house.model.fault("hold-stream")
    with Chat(house.cli, "helper", "--conversation", "abort") as chat:
        chat.types("When does the harbour open?")
        chat.reads("provisional")
        chat.keys("half a line\x03")
        chat.reads("was aborted; nothing more of it is sent")
        assert house.run("abort")["state"] == "cancelled"
        house.model.release()
        chat.keys("\x03")
        assert chat.ends() == 0
    assert "half a line" not in chat.display.text and "provisional" not in chat.display.text


def test_the_chat_itself_is_killed(house: House) -> None:
    """The turn goes on at its worker; the chat that comes back watches it, and sends nothing."""
    asked = house.model.requests_answered()
    worker = house.worker()
    house.model.fault("hold-stream")
    try:
        with Chat(house.cli, "helper", "--conversation", "died") as chat:
            chat.types("When does the harbour open?")
            chat.reads("you: When")
            house.model.wait(requests=asked + 1)
            chat.kill()
        assert [each["pid"] for each in house.workers()] == [worker.pid], "it started none of its own"
        with Chat(house.cli, "helper", "--conversation", "died") as chat:
            chat.reads("you: When does the harbour open")
            chat.reads("asking helper")
            house.model.release()
            chat.reads("completed")
            chat.types("/quit")
            assert chat.ends() == 0
            assert chat.display.text.count(f"helper: Answer {asked + 1}") == 1
    finally:
        worker.terminate()
        worker.wait(PATIENCE_S)
        assert worker.stderr is not None
        worker.stderr.close()
    assert house.kinds("died").count("asked") == 1 and house.model.requests_answered() == asked + 1


def test_the_chat_is_killed_and_with_it_its_worker(house: House) -> None:
    """Its worker hands over and ends; the chat that comes back sees that nobody drives, and starts one of its own."""
    asked = house.model.requests_answered()
    house.model.fault("hold-stream")
    with Chat(house.cli, "helper", "--conversation", "both") as chat:
        chat.types("When does the harbour open?")
        chat.reads("provisional")
        (worker,) = house.workers()
        chat.kill()
    with Chat(house.cli, "helper", "--conversation", "both") as chat:
        chat.reads("you: When does the harbour open")
        house.model.release()
        chat.reads("completed")
        assert [each["pid"] for each in house.workers()] != [worker["pid"]]
        chat.types("/quit")
        assert chat.ends() == 0
        assert chat.display.text.count("it opens at seven") == 1
    assert house.kinds("both").count("decision") == 1
    assert house.model.requests_answered() - asked == house.kinds("both").count("asked")


def test_words_and_what_is_said_meanwhile(house: House) -> None:
    house.model.fault("hold-stream")
    with Chat(house.cli, "helper", "--conversation", "words") as chat:
        chat.types("When does the harbour open?")
        chat.reads("provisional")
        chat.types("harbour again")
        chat.reads("It waits for the turn before it")
        chat.types("/steer the harbour of Hull")
        chat.reads("For the turn at work")
        chat.types("/fork")
        chat.reads("turn_open")
        chat.types("/what")
        chat.reads("there is no /what")
        house.model.release()
        chat.reads(r"(run-[0-9]+ completed[\s\S]*){3}")
        chat.types("/reset another matter")
        chat.reads("empty history")
        chat.types("/new")
        chat.reads(r"conversation helper-[0-9a-f]{8}\n")
        chat.types("/fork")
        chat.reads("not_found")
        chat.types("/help")
        chat.reads("Ctrl-D +leave")
        chat.types("/quit")
        assert chat.ends() == 0
    talk = house.cli.json("conversations", "show", "words").data
    kinds = [(turn["kind"], turn["state"]) for turn in talk["transcript"]["items"]]
    assert sorted(kinds) == [("message", "completed")] * 3 and talk["next"] == "reset", kinds


def test_lines_of_a_pipe(house: House) -> None:
    lines = b"When does the harbour open?\n\n//harbour\n"
    first = house.cli("chat", "helper", "--conversation", "piped", "--request-id", "job", stdin=lines)
    assert first.status == 0 and "\x1b" not in first.out, first
    assert first.out.count("it opens at seven") == 2 and "you: /harbour" in first.out and "provisional" not in first.out
    again = house.cli.json("chat", "helper", "--conversation", "piped", "--request-id", "job", stdin=lines)
    assert [(each["request_id"], each["admitted"]) for each in again.data["turns"]] == [
        ("job-1", "existing"), ("job-2", "existing")
    ]  # fmt: skip
    assert house.cli.json("conversations", "show", "piped").data["turns"] == 2


def test_a_review_in_a_pipe(house: House) -> None:
    """It is told, with its command; what comes behind is not sent. Then it is answered from a pipe."""
    told = house.cli("chat", "helper", "--conversation", "stops", stdin=b"refund o-9\nharbour\n")
    assert told.status == 5 and "counterfoil reviews approve rev-" in told.out and "were not sent" in told.out, told
    told = house.cli("chat", "helper", "--conversation", "stops", "--as", "oscar", stdin=b"/reject Not this one.\n")
    assert told.status == 0 and "is rejected" in told.out, told


def test_a_doubt_is_told_with_its_evidence_and_its_command(house: House) -> None:
    house.bank.fault("drop-reply", count=10)
    told = house.cli("chat", "helper", "--conversation", "doubts", stdin=b"letter o-9\n")
    house.bank.post("fault", {"fault": None})
    assert told.status == 5, told
    for text in ("is parked", "sent maybe", "Ask the post office.", "counterfoil operations resolve op-", "owner"):
        assert text in told.out, (text, told.out)
    assert "note(text=a letter) [undeclared]" in told.out
    command = next(line.strip() for line in told.out.splitlines() if line.strip().startswith("counterfoil operations"))
    resolved = house.cli.typed(command, "--reference", "l-1", "--reason", "seen", "--evidence-text", "in the book")
    assert resolved.status == 0, resolved


@pytest.mark.parametrize(
    ("argv", "status", "code"),
    [
        (["nobody"], 4, "unknown_workflow"),
        (["helper", "--conversation", "conversation-99"], 2, "usage"),
        (["helper", "--worker", "--no-worker"], 2, "usage"),
        (["helper", "--app", "app:nothing"], 2, "app_not_found"),
    ],
)
def test_refused_before_anything_is_said(house: House, argv: list[str], status: int, code: str) -> None:
    assert house.cli.refused("chat", *argv, stdin=b"hello\n") == (status, code)
