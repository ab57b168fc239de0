"""The parts of a chat: the line that is typed, the foot of the screen, provisional text, and pieces over a pipe."""

import asyncio
import io
import os
from typing import Any

import pytest
from rich.text import Text

from counterfoil.app.relaying import LONGEST, pass_on, relayed
from counterfoil.cli.chat.keyboard import Line
from counterfoil.cli.chat.screen import Paper, Screen
from counterfoil.cli.chat.told import Turn
from counterfoil.cli.chat.writing import Writing
from counterfoil.cli.streams import Streams
from counterfoil.engine.partials import Partials
from tests.edges.chat_bench import Display

# ---------------------------------------------------------------------- what is typed


@pytest.mark.parametrize(
    ("keys", "lines", "left"),
    [
        ("hello\r", ["hello"], ""),
        ("a\rb\nc", ["a", "b"], "c"),
        ("helo\x7flo\r", ["hello"], ""),
        ("one two\x17", [], "one "),
        ("one\x17", [], ""),
        ("one two\x15x", [], "x"),
        ("\x1b[A\x1b[1;5Cx\x1bOPy\x1bz", [], "xy"),
        ("\x1b[200~one\rtwo\x1b[201~\r", ["one\ntwo"], ""),
        ("\x1b[200~a\x1b[A\rb\x1b[201~c\r", ["a\nbc"], ""),
        ("\x04", [None], ""),
        ("x\x04", [], "x"),
        ("a\x01\x00b\tgrüße\r", ["ab\tgrüße"], ""),
    ],
)
def test_keys_make_lines(keys: str, lines: list[str | None], left: str) -> None:
    line = Line()
    assert line.feed(keys) == lines and line.text == left
    again = Line()
    assert [each for key in keys for each in again.feed(key)] == lines, "key by key"
    assert again.text == left


# ---------------------------------------------------------------------- what is drawn


class Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def screen_of(monkeypatch: pytest.MonkeyPatch) -> tuple[Screen, Tty]:
    monkeypatch.setenv("COLUMNS", "20")
    monkeypatch.setenv("LINES", "6")
    out = Tty()
    return Screen(Streams(out, Tty(), json=False, interactive=True)), out


def test_what_is_told_stands_once_and_what_may_change_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, out = screen_of(monkeypatch)
    with screen:
        for n in range(30):
            screen.show([Text("thinking " * n), Text("and more")], "> ", "typed " * 8)
            if n % 10 == 0:
                assert screen.tell(("said", n), lambda console, n=n: console.print(f"told {n}"))
            assert not screen.tell(("said", 0), lambda console: console.print("told twice"))
    display = Display()
    display.feed(out.getvalue().encode())
    assert display.text.split() == ["told", "0", "told", "10", "told", "20"]
    ups = out.getvalue().count("\x1b[1A")
    assert ups and max(part.count("\x1b[1A") for part in out.getvalue().split("\r")) <= 5, "never above the terminal"


def test_what_steers_a_terminal_is_shown_as_text(monkeypatch: pytest.MonkeyPatch) -> None:
    screen, out = screen_of(monkeypatch)
    with screen:
        screen.show([], "> ", "\x1b[2J\u202e")
    assert "\x1b[2J" not in out.getvalue() and "\u202e" not in out.getvalue()


def test_paper_takes_what_is_told_and_nothing_provisional() -> None:
    for json, written in ((False, "told\n"), (True, "")):
        out = io.StringIO()
        paper = Paper(Streams(out, io.StringIO(), json=json, interactive=False))
        with paper:
            paper.show([Text("provisional")])
            assert [paper.tell("key", lambda console: console.print("told")) for _ in range(2)] == [True, False]
        assert out.getvalue() == written


# ---------------------------------------------------------------------- what is provisional


def asking(position: str, sequence: int, *, open_: bool = True, kind: str = "asking") -> dict[str, Any]:
    return {"kind": kind, "position": position, "sequence": sequence, "open": open_}


def test_what_was_answered_so_far_is_void_when_it_is_asked_again() -> None:
    writing = Writing()
    first, again = asking("1", 4), asking("1", 6)
    writing.take("run", [first], [("1", "Half "), ("1", "an ans"), ("9", "of nobody's question")])
    assert writing.of("run", first) == "Half an ans" and writing.of("run", again) == writing.of("other", first) == ""
    writing.take("run", [again], [("1", "The")])
    assert writing.of("run", again) == "The"
    writing.take("run", [], [("1", " late piece")])
    assert writing.of("run", again) == ""


def told(state: str, items: list[dict[str, Any]], **run: Any) -> Turn:
    record = {"run_id": "r", "number": 1, "state": state, "reason": None, "sentence": "So it stands.", "budgets": [],
              "failure": None, "records": {"operations": []}} | run  # fmt: skip
    return Turn({"kind": "message", "text": "Hello"}, record, items, "helper", {"look": "safe"})


def call(state: str, **more: Any) -> dict[str, Any]:
    return {"n": 0, "tool": "look", "what": None, "state": state, "arguments": {"order": "o-1"}, "returned": None,
            "failed": None, "operations": []} | more  # fmt: skip


def decision(*calls: dict[str, Any], text: str | None = None) -> dict[str, Any]:
    counts = {"lost": 1, "failed": 1, "compaction": False}
    return {"kind": "decision", "sequence": 5, "text": text, "calls": list(calls)} | counts


def test_a_call_is_told_when_it_has_ended_and_drawn_before() -> None:
    planned = told("running", [decision(call("not_begun"), text="I look.")])
    assert [line.text for line in planned.lines()] == ["Hello", "It was asked 3 times; 2 without an answer.", "I look."]
    assert [text for text, _ in planned.under_way()] == ["  look(order=o-1) [safe] is planned"]
    ended = told("completed", [decision(call("done", returned="a chair", what="safe"), text="I look.")])
    assert [line.text for line in ended.lines()][3:] == ["look(order=o-1) [safe]: done, a chair", "run-1 completed"]
    assert list(ended.under_way()) == []
    assert {line.key for line in planned.lines()} < {line.key for line in ended.lines()}, "the same keys again"


def test_an_operation_is_told_when_it_is_closed() -> None:
    operation = {
        "operation_id": "op",
        "number": 7,
        "status": "unknown",
        "sentence": "Nobody knows.",
        "receipts": [],
        "reused": False,
    }
    item = decision(call("recorded", operations=["op"], what="operation"))
    doubt = told("parked", [item], records={"operations": [operation]})
    assert [text for text, _ in doubt.under_way()] == [
        "  look(order=o-1) [operation]: op-7 unknown: Nobody knows.", "run-1 is parked: So it stands."
    ]  # fmt: skip
    closed = operation | {"status": "succeeded", "receipts": [{"reference": "re-1", "how": "lookup"}]}
    done = told("failed", [item], records={"operations": [closed]}, failure={"message": "why"})
    assert [line.text for line in done.lines()][2:] == [
        "look(order=o-1) [operation]: op-7 succeeded, re-1 (lookup)", "run-1 failed: why"
    ]  # fmt: skip


# ---------------------------------------------------------------------- what comes from the worker


def test_pieces_come_over_a_pipe() -> None:
    text = "grüße \U0001f642" * LONGEST

    async def body() -> str:
        here, there = Partials(), Partials()
        found = ""
        with here.following("run") as follower:
            with relayed(here) as pipe:
                theirs = os.dup(pipe)
            pass_on(there, theirs)
            there.publish("run", "1.0", text)
            os.close(theirs)
            while len(found) < len(text):
                await follower.arrived.wait()
                follower.arrived.clear()
                found += "".join(piece.text for piece in follower.ready() if piece.position == "1.0")
        return found

    assert asyncio.run(body()) == text


def test_a_worker_waits_for_nobody_who_does_not_read() -> None:
    heard, pipe = os.pipe()
    partials = Partials()
    pass_on(partials, pipe)
    for _ in range(1000):
        partials.publish("run", "1", "x" * LONGEST)
    os.close(heard)
    partials.publish("run", "1", "after the end")
    os.close(pipe)
