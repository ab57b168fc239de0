"""The command line as processes: streams, signals, a terminal, and what is loaded."""

import json
import os
import pty
import signal
import subprocess
import sys
import termios
from collections.abc import Callable
from fcntl import ioctl
from pathlib import Path
from typing import Any

import pytest

from tests.edges.cli_bench import Cli, installed

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
WAIT = 60


@pytest.fixture(scope="module")
def cli(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    """One database that these tests only look at, or add to."""
    return installed(tmp_path_factory.mktemp("processes"))


def environment(cli: Cli, **more: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    return clean | cli.environ | more


def start(
    cli: Cli,
    *argv: "str | bytes",
    env: dict[str, str] | None = None,
    stdin: int = subprocess.DEVNULL,
    stdout: Any = subprocess.PIPE,
    stderr: int = subprocess.PIPE,
    preexec_fn: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [*COMMAND, *argv], cwd=cli.folder, env=env or environment(cli), stdin=stdin, stdout=stdout, stderr=stderr,
        preexec_fn=preexec_fn,
    )  # fmt: skip


def run(cli: Cli, *argv: "str | bytes", **streams: Any) -> tuple[int, bytes, bytes]:
    child = start(cli, *argv, **streams)
    out, err = child.communicate(timeout=WAIT)
    assert b"Traceback" not in (err or b"")
    return child.returncode, out, err


def test_help_loads_neither_engine_nor_database() -> None:
    program = (
        "import sys, json; from counterfoil.cli.main import main; status = main(['--help']);"
        "sys.stderr.write(json.dumps([status, *sys.modules]))"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=WAIT)
    status, *modules = json.loads(ended.stderr)
    assert status == 0
    assert "operations" in ended.stdout
    heavy = {"apsw", "asyncio", "httpx2", "pydantic", "pydantic_ai", "rfc8785", "rich", "sqlite3"}
    ours = ("counterfoil.app", "counterfoil.engine", "counterfoil.store", "counterfoil.testing", "counterfoil.rules")
    assert [name for name in modules if name in heavy or name.startswith(ours)] == []


def test_version_and_help_are_on_standard_output(cli: Cli) -> None:
    status, out, _ = run(cli, "--version")
    assert (status, out[:11]) == (0, b"counterfoil")
    assert run(cli)[0] == 0
    assert run(cli)[1] == run(cli, "--help")[1]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_worker_ends_when_it_is_told(cli: Cli, number: signal.Signals) -> None:
    worker = start(cli, "worker", "--json")
    assert worker.stderr is not None
    assert b"drives the runs of" in worker.stderr.readline()
    worker.send_signal(number)
    out, err = worker.communicate(timeout=WAIT)
    assert (worker.returncode, json.loads(out)["data"]["ended_by"]) == (0, "signal")
    assert b"Traceback" not in err


def test_nobody_reads_the_answer(cli: Cli) -> None:
    read, write = os.pipe()
    os.close(read)
    for argv in (["runs", "list"], ["schema", "--json"], ["--help"], ["runs", "show", "run-9", "--json"]):
        child = start(cli, *argv, stdout=write)
        _, err = child.communicate(timeout=WAIT)
        assert b"Traceback" not in err
        assert b"Exception ignored" not in err
        assert child.returncode in (0, 4)
    os.close(write)


def test_the_answer_cannot_be_written(cli: Cli) -> None:
    with open("/dev/full", "w") as full:
        status, _, err = run(cli, "runs", "list", "--json", stdout=full)
    assert status == 3
    assert b"standard output cannot be written" in err


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_closed_stream_is_no_crash(cli: Cli, closed: str) -> None:
    for argv in ("runs list --json", "submit buy --input - --request-id r"):
        line = f'exec "$0" "$@" {argv} {closed}'
        ended = subprocess.run(
            ["sh", "-c", line, *COMMAND], cwd=cli.folder, env=environment(cli), capture_output=True, timeout=WAIT
        )
        assert ended.returncode in (0, 2, 4), (argv, ended)
        assert b"Traceback" not in ended.stderr


def test_bytes_that_are_no_text(cli: Cli) -> None:
    status, out, _ = run(cli, "runs", "show", b"\xff\xfe", "--json")
    assert (status, json.loads(out)["error"]["code"]) == (2, "usage")


def test_a_terminal_without_the_characters(cli: Cli) -> None:
    cli.json("people", "list")
    env = environment(cli, PYTHONIOENCODING="ascii", LC_ALL="C")
    status, out, _ = run(cli, "find", "é\u202e\x1b[31m", env=env)
    assert status == 0
    assert b"\x1b" not in out


def test_the_sandbox_serves_until_its_input_closes(cli: Cli) -> None:
    for more in ([], ["--json"]):
        child = start(cli, "sandbox", "--kind", "key", *more, stdin=subprocess.PIPE)
        assert child.stdout is not None
        line = json.loads(child.stdout.readline())
        ready = line["data"] if more else line
        assert set(ready) == {"url", "control_url", "pid", "records_file"}
        assert ready["pid"] == child.pid
        out, _ = child.communicate(timeout=WAIT)
        assert (child.returncode, out) == (0, b"")


def test_a_defect_is_logged_and_not_shown(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "cli_code.py").write_text(
        "from counterfoil import App\nclass Odd(App):\n    def open(self, founding=None):\n        raise ZeroDivisionError('odd')\n"
        "app = Odd('odd')\n"
    )
    other = Cli(tmp_path, {"COUNTERFOIL_STATE": str(tmp_path / "state")})
    (tmp_path / "counterfoil.db").write_text("")
    status, out, err = run(other, "runs", "list", "--app", "cli_code:app", "--json")
    error = json.loads(out)["error"]
    assert (status, error["code"], err) == (70, "defect", b"")
    assert "ZeroDivisionError" in Path(error["details"]["log"]).read_text()
    env = environment(other, COUNTERFOIL_DEBUG="1")
    child = start(other, "runs", "list", "--app", "cli_code:app", env=env)
    assert b"Traceback" in child.communicate(timeout=WAIT)[1]


# ---------------------------------------------------------------------- a terminal


class Terminal:
    """A child on a terminal of its own."""

    def __init__(self, cli: Cli, *argv: str) -> None:
        self._ours, theirs = pty.openpty()

        def take() -> None:
            os.setsid()
            ioctl(0, termios.TIOCSCTTY, 0)

        env = environment(cli, TERM="xterm", COLUMNS="120")
        self.child = start(cli, *argv, env=env, stdin=theirs, stdout=theirs, stderr=theirs, preexec_fn=take)
        os.close(theirs)
        self.seen = ""

    def expect(self, text: str) -> None:
        while text not in self.seen:
            self.seen += self._more()

    def type(self, text: str) -> None:
        os.write(self._ours, text.encode())

    def end(self) -> int:
        while more := self._more(quiet=True):
            self.seen += more
        os.close(self._ours)
        return self.child.wait(WAIT)

    def _more(self, *, quiet: bool = False) -> str:
        try:
            more = os.read(self._ours, 4096).decode()
        except OSError:  # Linux says EIO when the other side is gone
            more = ""
        assert more or quiet, self.seen
        return more


def test_a_secret_is_asked_for_and_not_shown(cli: Cli) -> None:
    terminal = Terminal(cli, "people", "add", "gia", "--role", "buyer")
    terminal.expect("New secret of gia: ")
    terminal.type("open sesame\r")
    terminal.expect("confirmation: ")
    terminal.type("open sesame\r")
    assert terminal.end() == 0
    assert "sesame" not in terminal.seen
    assert "gia" in terminal.seen
    again = Terminal(cli, "writes", "suspend", "--all", "--by", "gia")
    again.expect("Why:")
    again.type("a test\r")
    assert again.end() == 0
    lift = Terminal(cli, "writes", "resume", "--all", "--by", "gia", "--reason", "x")
    lift.expect("Secret of gia: ")
    lift.type("wrong\r")
    assert lift.end() == 3
    assert "wrong_secret" in lift.seen


def test_interrupted_at_a_question(cli: Cli) -> None:
    terminal = Terminal(cli, "people", "add", "hal")
    terminal.expect("New secret of hal: ")
    terminal.type("\x03")
    assert terminal.end() == 130
    assert "Traceback" not in terminal.seen


def test_colour_only_where_there_is_a_terminal(cli: Cli) -> None:
    terminal = Terminal(cli, "runs", "show", "run-99")
    assert terminal.end() == 4
    assert "\x1b[" in terminal.seen
    assert b"\x1b[" not in run(cli, "runs", "show", "run-99")[2]
