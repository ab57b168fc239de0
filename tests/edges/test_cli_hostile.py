"""Whatever is typed: one status that means something, one document, and never a traceback."""

import json
import re
from collections.abc import Iterator
from contextlib import nullcontext
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.cli import demo
from counterfoil.cli.schema import schema_of
from counterfoil.cli.shapes import EXITS
from counterfoil.cli.tree import command
from counterfoil.drills.running import Ensemble
from counterfoil.model.errors import Refused
from counterfoil.testing import simulate as simulating
from counterfoil.testing.explore import report as exploring
from counterfoil.testing.simulate.running import Report
from tests.edges.cli_bench import Cli, Ended, installed

# The first takes seconds, and is given nothing but a place; the second serves until it is told to end.
LOUD = {"conformance", "serve"}
PROCESSES = {"--processes", "--console"}  # what starts others, or stays
SCHEMA = [each for each in schema_of(command())["commands"] if each["command"] not in LOUD]

# Words that break something somewhere: quoting, paths, numbers, formats, terminals, encodings.
HOSTILE = [
    "", " ", "-", "--", "-1", "0", "1", "01", "1e5", "1_000", "९", "9" * 25, "9" * 5000, "NaN", "None", "true", "x" * 300,
    "run-1", "op-1", "rev-1", "inc-1", "run_", "op_", "%", "_", "'; drop table runs; --", "a\x1fb", "a\nb", "a\x00b", "\x1b[31m",
    "\u202e", "\ud800", "é", "🂡", "{problem}", "{0.__class__}", "%s", "[red]", "[/]", "$(id)", "../..", ".", "nothing/here",
    "text.db", "half.db", "folder.db", "locked.json", "in.json", "bad.json", "sqlite:///", "sqlite:///text.db", "file:x?mode=memory",
    ":memory:", "postgresql://x/y", "app:app", "app:Order", "app:", ":app", "a:b:c", ".app", "json:loads", "ana", "oscar", "buy",
    "place_order", "succeeded", "failed", "send-again", "restored", "attempts=3", "attempts=", "=", "shop", "open", "parked",
]  # fmt: skip
WORD = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
SAFE_FOLDERS = st.sampled_from(
    ["", "new", "in.json", "in.json/x", "nothing/here", "x" * 300, "a\nb", "\ud800", "é", "-x", "/proc/x", "."]
)


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A database with something in it, and files that are not what they seem."""
    cli = installed(tmp_path_factory.mktemp("hostile"))
    cli.submit("buy")
    cli.submit("waits")
    cli.submit("broken")
    cli.drive()
    (cli.folder / "text.db").write_text("a text that is long enough to be read as the header of a database")
    (cli.folder / "half.db").write_bytes((cli.folder / "counterfoil.db").read_bytes()[:9000])
    (cli.folder / "folder.db").mkdir()
    (cli.folder / "in.json").write_text('{"number": "7"}')
    (cli.folder / "bad.json").write_bytes(b'{"number": "7')
    with (
        mock.patch.object(demo, "_stories", return_value=lambda options: {"stories": [], "paths": {}}),
        mock.patch.object(exploring, "ProcessPoolExecutor", Unexplored),
        mock.patch.object(simulating, "simulate", lambda seed, **asked: Report(seed)),
        mock.patch.object(Ensemble, "__enter__", unplayed),
    ):
        yield cli


# What plays for minutes is read and checked as it was typed, and then not played.
class Unexplored(nullcontext[Any]):
    def __init__(self, *given: Any) -> None:
        super().__init__(self)

    def map(self, *given: Any) -> list[Any]:
        return []


def unplayed(ensemble: Ensemble) -> None:
    raise Refused("drill_not_clean", workflow=ensemble.target.text, problem="it was not played")


def holds(ended: Ended, *, as_json: bool) -> None:
    """What is promised of every command, whatever was typed."""
    assert ended.status in EXITS, ended
    assert ended.status != 70, ended
    if as_json:
        document: dict[str, Any] = ended.document
        assert document["ok"] is (ended.status in (0, 1, 5)), ended
        assert set(document) == ({"ok", "schema", "data", "warnings"} if document["ok"] else {"ok", "schema", "error"})
        if not document["ok"]:
            assert set(document["error"]) == {"code", "message", "safe_next", "command", "details"}
            assert document["error"]["message"]
            assert document["error"]["safe_next"]
    elif ended.status not in (0, 1, 5):
        assert ended.out == ""
        assert ended.err.strip()
    assert not any(each < " " and each != "\n" for each in ended.out + ended.err), "nothing steers the terminal"


LIKELY = st.sampled_from(
    ["run-1", "run-2", "run-3", "1", "2", "rev-1", "op-1", "inc-1", "ana", "buy", "go", "place_order"]
)
FITTING = {
    "N": ["0", "1", "2", "50"], "FILE": ["in.json", "bad.json", "-", "nothing"], "PERSON": ["ana", "oscar", "nobody"],
    "succeeded|failed|send-again": ["succeeded", "failed", "send-again"], "restored|moved|clone": ["restored", "clone"],
    "KIND=N": ["attempts=3", "spend=1.5", "odd=1"], "R": ["shop", "nothing"], "S": ["0", "0.01"],
}  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> list[str]:
    """A command of the tree with arguments and options that mostly fit, so that most are carried out."""
    chosen = draw(st.sampled_from(SCHEMA))
    argv = chosen["command"].split()
    own = SAFE_FOLDERS if chosen["command"] == "init" else st.one_of(LIKELY, LIKELY, WORD)
    wanted = sum(
        word.isupper() for word in re.sub(r"\[?--.*", "", chosen["usage"]).replace("[", "").replace("]", "").split()
    )
    argv += [draw(own) for _ in range(max(0, wanted + draw(st.sampled_from([0] * 18 + [-1, 1]))))]
    for option in chosen["options"]:
        if option["option"] in PROCESSES:
            continue
        if draw(st.integers(0, 9)) < (9 if option["required"] else 3):
            fitting = st.sampled_from(FITTING.get(option["value"], HOSTILE))
            value = [] if option["value"] is None else [draw(st.one_of(fitting, fitting, fitting, WORD))]
            argv += [option["option"], *value]
    for name in ("--db", "--app"):
        if chosen["command"] != "init" and draw(st.integers(0, 14)) == 0:
            argv += [name, draw(WORD)]
    return argv + (["--until-idle"] if chosen["command"] == "worker" else [])


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(argv=lines(), as_json=st.booleans())
def test_a_command_of_the_tree(cli: Cli, argv: list[str], as_json: bool) -> None:
    # Without "--": behind it, --json would be an argument like any other.
    argv = [word for word in argv if word != "--"]
    ended = cli.json(*argv) if as_json else cli(*argv)
    if "--help" not in argv:
        holds(ended, as_json=as_json)


@settings(max_examples=100)
@given(
    argv=st.lists(
        st.one_of(WORD, st.sampled_from(["runs", "show", "list", "people", "add", "--json", "--db", "-h", "--help"])),
        max_size=6,
    )
)
def test_words_in_any_order(cli: Cli, argv: list[str]) -> None:
    if {"init", "--help", "--"} & set(argv):
        return
    as_json = "--json" in argv
    ended = cli(*argv)
    if argv:
        holds(ended, as_json=as_json)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda c: st.lists(c) | st.dictionaries(st.text(), c),
    max_leaves=8,
)


@settings(max_examples=100)
@given(
    content=st.one_of(
        st.binary(max_size=60), st.text(max_size=40).map(str.encode), json_values.map(lambda v: json.dumps(v).encode())
    )
)
def test_any_bytes_as_an_input(cli: Cli, content: bytes) -> None:
    ended = cli.json("submit", "buy", "--input", "-", "--request-id", "hostile", stdin=content)
    assert ended.status == 2, ended
    assert ended.code in ("malformed_json", "invalid_payload")
    sent = cli.json("signals", "send", "run-2", "other", "--signal-id", repr(content), "--payload", "-", stdin=content)
    holds(sent, as_json=True)


@settings(max_examples=60)
@given(content=st.binary(max_size=300))
def test_any_bytes_as_a_database(cli: Cli, content: bytes) -> None:
    whole = (cli.folder / "counterfoil.db").read_bytes()
    for stored in (content, whole[:100] + content, whole[:4096] + content * 20):
        (cli.folder / "odd.db").write_bytes(stored)
        for words in ("runs list", "verify", "doctor"):
            holds(cli.json(*words.split(), "--db", "odd.db"), as_json=True)


@settings(max_examples=60)
@given(text=st.text(max_size=80))
def test_any_text_as_a_configuration(cli: Cli, text: str) -> None:
    kept = (cli.folder / "counterfoil.toml").read_text()
    try:
        (cli.folder / "counterfoil.toml").write_text(text)
        for words in ("runs list", "explain", "settings"):
            holds(cli.json(*words.split()), as_json=True)
    finally:
        (cli.folder / "counterfoil.toml").write_text(kept)


@settings(max_examples=25)
@given(text=st.text(min_size=1, max_size=30))
def test_any_text_as_a_name_comes_back(cli: Cli, text: str) -> None:
    """What people typed is shown as typed in JSON, and cannot steer a terminal."""
    (cli.folder / "secret").write_text("s3cret")
    ended = cli.json("people", "add", text, "--role", text, "--secret-file", "secret")
    holds(ended, as_json=True)
    if ended.status == 0:
        assert (ended.data["name"], ended.data["roles"]) == (text, [text])
        holds(cli("people", "list"), as_json=False)
