"""One existing function of a Flask program under the ledger, in ten lines: real server processes, real requests."""

import asyncio
import difflib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from counterfoil.engine.blocking import blocking
from counterfoil.model.errors import Refused
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed

PROGRAM = Path(__file__).parent / "flask_program"
BEFORE, AFTER = (PROGRAM / "before.py").read_text(), (PROGRAM / "after.py").read_text()
TEN = 10

PLAIN = 'procedure="Ask the mail desk."'
KEY = 'key=IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))'
WITH_KEY = AFTER.replace("Env, Receipt", "Env, IdempotencyKey, Receipt").replace(PLAIN, KEY)
WITH_KEY = WITH_KEY.replace("from flask import", "from datetime import timedelta\n\nfrom flask import")

Answer = tuple[int, dict[str, Any]]


class Program:
    """The Flask program as a server process of its own."""

    def __init__(self, cli: Cli, module: str = "app") -> None:
        kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
        command = [sys.executable, "-m", "flask", "--app", f"{module}:site", "run", "--port", "0", "--no-reload"]
        self.child = subprocess.Popen(
            command,
            cwd=cli.folder,
            env={**kept, **cli.environ, "PYTHONUNBUFFERED": "1"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.said: list[str] = []
        port: SimpleQueue[int | None] = SimpleQueue()
        self._reading = threading.Thread(target=self._read, args=(port,))
        self._reading.start()
        found = port.get(timeout=60)
        assert found is not None, "".join(self.said)
        self.port = found

    def _read(self, port: SimpleQueue[int | None]) -> None:
        assert self.child.stderr is not None
        for line in self.child.stderr:
            self.said.append(line)
            if found := re.search(r"Running on http://127\.0\.0\.1:(\d+)", line):
                port.put(int(found[1]))
        port.put(None)

    def post(self, number: str) -> Answer:
        """Send one invoice. HTTPException or OSError when the server is killed meanwhile."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request("POST", f"/invoices/{number}")
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        except ValueError as problem:  # Flask's page for an exception that nobody handles
            raise AssertionError("".join(self.said)) from problem
        finally:
            connection.close()

    def kill(self) -> None:
        """kill -9."""
        os.kill(self.child.pid, signal.SIGKILL)
        assert self.child.wait(30) == -signal.SIGKILL

    def close(self) -> None:
        self.child.terminate()
        self.child.wait(30)
        self._reading.join(30)
        assert self.child.stderr is not None
        self.child.stderr.close()


@contextmanager
def serving(cli: Cli, module: str = "app") -> Iterator[Program]:
    program = Program(cli, module)
    try:
        yield program
    finally:
        program.close()


@pytest.fixture(params=["key", "none"])
def kind(request: pytest.FixtureRequest) -> str:
    """The mail desk takes a key, or it cannot tell a second request from a first."""
    return request.param


@pytest.fixture
def mail(kind: str) -> Generator[SandboxProcess, None, None]:
    with SandboxProcess(kind) as sandbox:
        yield sandbox


@pytest.fixture
def cli(kind: str, mail: SandboxProcess, tmp_path: Path) -> Cli:
    made = installed(tmp_path, app=WITH_KEY if kind == "key" else AFTER)
    made.environ["MAIL_URL"] = mail.url
    return made


def resolved(cli: Cli, command: str, reference: str) -> None:
    """The printed command as it is typed; what only a person knows is asked for."""
    (cli.folder / "proof.txt").write_text("seen at the mail desk")
    ended = cli.typed(command, answers=f"{reference}\nseen at the mail desk\nproof.txt\noscar\n")
    assert ended.status == 0, ended


def test_it_takes_ten_lines() -> None:
    changes = list(difflib.ndiff(BEFORE.splitlines()[1:], AFTER.splitlines()[1:]))
    written = [line for line in changes if line.startswith("+ ") and line.strip("+ ")]
    kept = [line for line in changes if line.startswith("  ")]
    assert 0 < len(written) <= TEN, "\n".join(written)
    assert any("class Invoice" in line for line in kept)
    assert any("@site.post" in line for line in kept)


def test_the_program_before_sends_twice_after_a_lost_reply(kind: str, cli: Cli, mail: SandboxProcess) -> None:
    """What the ten lines are for: without them a user's second click is a second invoice."""
    (cli.folder / "old.py").write_text(BEFORE)
    with serving(cli, "old") as program:
        mail.fault("drop-reply")
        with pytest.raises(AssertionError, match=r"RemoteProtocolError|ReadError"):
            program.post("7")
        assert program.post("7")[0] == 200
    assert len(mail.records()) == 2


def test_an_invoice_is_sent_once_however_often_it_is_asked_for(cli: Cli, mail: SandboxProcess) -> None:
    with serving(cli) as program:
        first = program.post("7")
        assert first[0] == 200
        assert program.post("7") == first
    with serving(cli) as program:
        assert program.post("7") == first
        assert program.post("8")[1] != first[1]
    assert mail.records()[0]["id"] == first[1]["receipt"]
    assert len(mail.records()) == 2


def test_a_lost_reply(kind: str, cli: Cli, mail: SandboxProcess) -> None:
    mail.fault("drop-reply")
    with serving(cli) as program:
        status, answer = program.post("7")
        if kind == "none":
            assert status == 202
            assert program.post("7") == (status, answer), "asked again, it says the same and sends nothing"
            resolved(cli, answer["next"], str(mail.records()[0]["id"]))
            status, answer = program.post("7")
        assert (status, answer) == (200, {"receipt": mail.records()[0]["id"]})
    assert len(mail.records()) == 1


def test_killed_after_the_mail_desk_accepted(kind: str, cli: Cli, mail: SandboxProcess) -> None:
    mail.fault("hang")
    with serving(cli) as program, ThreadPoolExecutor(1) as pool:
        lost = pool.submit(program.post, "7")
        mail.wait(requests=1)
        program.kill()
        assert isinstance(lost.exception(60), HTTPException | OSError)
    assert len(mail.records()) == 1
    with serving(cli) as program:
        status, answer = program.post("7")
        if kind == "none":
            assert status == 202
            resolved(cli, answer["next"], str(mail.records()[0]["id"]))
            status, answer = program.post("7")
        assert (status, answer) == (200, {"receipt": mail.records()[0]["id"]})
    assert len(mail.records()) == 1


def test_several_requests_at_once_and_no_thread_is_left_over(kind: str, cli: Cli, mail: SandboxProcess) -> None:
    with serving(cli) as program, ThreadPoolExecutor(6) as pool:
        first = list(pool.map(program.post, ["1", "2", "3", "1", "2", "3"]))
        assert {status for status, _ in first} == {200}, first
        assert first[:3] == first[3:], "two clicks at once are one invoice"
        resting = threads(program)
        assert list(pool.map(program.post, ["1", "2", "3"])) == first[:3]
        for number in range(4, 16):
            assert program.post(str(number))[0] == 200
        assert threads(program) <= resting + 2
    assert len(mail.records()) == 15


async def ident() -> int:
    return threading.get_ident()


def test_all_synchronous_callers_share_one_loop() -> None:
    before = {blocking(ident())}
    at_rest = threading.active_count()
    with ThreadPoolExecutor(8) as pool:
        idents = set(pool.map(lambda _: blocking(ident()), range(200)))
    assert idents == before
    assert threading.active_count() == at_rest


def test_what_it_raises_is_what_the_caller_sees() -> None:
    async def fails() -> None:
        raise ZeroDivisionError("said there")

    with pytest.raises(ZeroDivisionError, match="said there"):
        blocking(fails())
    assert blocking(ident()) != threading.get_ident(), "and the loop lives on"


def test_it_is_refused_inside_a_running_loop() -> None:
    """It would wait for itself. The coroutine is closed: nothing warns later that it was never awaited."""

    async def inside() -> None:
        body = ident()
        with pytest.raises(Refused) as refused:
            blocking(body)
        assert refused.value.code == "blocking_in_loop"
        with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
            await body

    asyncio.run(inside())


FORKED = """
import os, signal
from counterfoil import blocking
async def one(): return 1
assert blocking(one()) == 1
child = os.fork()
if not child:
    signal.alarm(10)
    os._exit(blocking(one()) - 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_forked_child_has_a_loop_of_its_own() -> None:
    """As Celery's prefork pool and a preloading web server have it."""
    ended = subprocess.run([sys.executable, "-c", FORKED], capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout == "0\n", ended.stderr


PREFORK = """
import os, signal
from app import Invoice, app, blocking, send_invoice
def perform(number):
    return blocking(app.ledger.perform(send_invoice, Invoice(number=number), identity=number)).reference
first = perform("1")
children = []
for number in ("1", "2", "2"):
    child = os.fork()
    if not child:
        signal.alarm(40)
        os._exit(0 if (perform(number) == first) == (number == "1") else 1)
    children.append(child)
print([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children], perform("1") == first)
"""


def test_children_forked_from_a_process_that_opened_the_ledger(tmp_path: Path) -> None:
    """Each opens the database for itself: a connection carried over a fork would damage it."""
    with SandboxProcess("key") as mail:
        cli = installed(tmp_path, app=WITH_KEY)
        environment = {**os.environ, **cli.environ, "MAIL_URL": mail.url}
        command = [sys.executable, "-c", PREFORK]
        ended = subprocess.run(
            command, cwd=cli.folder, env=environment, capture_output=True, text=True, timeout=100, check=False
        )
        assert ended.stdout == "[0, 0, 0] True\n", ended.stderr
        assert len(mail.records()) == 2
    verified = cli.json("verify").data
    assert (verified["broken"], verified["differences"]) == ([], [])


def threads(program: Program) -> int:
    return len(os.listdir(f"/proc/{program.child.pid}/task"))
