"""A served installation whose runs have everything that the record pages show, and the ways to act on it."""

import json
import os
import signal
import subprocess
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.browser.house import COMMAND, ENDS_WITHIN, House
from tests.browser.records_application import SOURCE
from tests.edges.cli_bench import installed

DROPS = "drop-reply:1000"


@contextmanager
def records_house(folder: Path) -> Generator[House, None, None]:
    """Founded with ana, oscar and mia; nothing has run yet, nothing is served yet."""
    with ExitStack() as stack:
        cli = installed(folder, app=SOURCE)
        sandboxes = {
            "CRM_URL": stack.enter_context(SandboxProcess("key")),
            "POST_URL": stack.enter_context(SandboxProcess("none", fault=DROPS)),
            "PARCELS_URL": stack.enter_context(SandboxProcess("lookup")),
        }
        cli.environ |= {name: sandbox.url for name, sandbox in sandboxes.items()}
        here = House(cli, sandboxes)
        try:
            yield here
        finally:
            here.stop()


def submitted(here: House, workflow: str, customer: str, *, drive: bool = True) -> dict[str, Any]:
    """Submit a run and drive it as far as it goes. Gives the answer of `submit`."""
    stdin = json.dumps({"customer": customer}).encode()
    ended = here.cli.json("submit", workflow, "--input", "-", "--request-id", f"{workflow}-{customer}", stdin=stdin)
    assert ended.status == 0, ended
    if drive:
        here.cli.drive()
    return ended.data


def answered(here: House, word: str, person: str, *more: str) -> None:
    """A person answers the newest open review."""
    review = here.cli.json("reviews", "list", "--state", "open").data["items"][0]
    here.cli.environ["COUNTERFOIL_SECRET"] = here.secret(person)
    ended = here.cli.json(
        "reviews", word, review["review_id"], "--digest", review["digest"], "--by", person, *more
    )  # fmt: skip
    del here.cli.environ["COUNTERFOIL_SECRET"]
    assert ended.status == 0, ended


def crashed_worker(here: House, boundary: str) -> None:
    """A worker of its own, which is killed at a boundary."""
    environ = _clean(here) | {"COUNTERFOIL_CRASH_AT": boundary}
    ended = subprocess.run(
        [*COMMAND, "worker", "--until-idle"], cwd=here.cli.folder, env=environ, stdin=subprocess.DEVNULL,
        capture_output=True, timeout=ENDS_WITHIN, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended


@contextmanager
def worker(here: House) -> Generator["subprocess.Popen[bytes]", None, None]:
    """A worker process beside the server, ended with the block."""
    process = subprocess.Popen(
        [*COMMAND, "worker"], cwd=here.cli.folder, env=_clean(here), stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(ENDS_WITHIN)


def kill(here: House) -> None:
    """The server dies without a word."""
    served, here.served = here.served, None
    assert served is not None and served.stdout is not None
    served.kill()
    served.wait(ENDS_WITHIN)
    served.stdout.close()


def a_life(here: House) -> None:
    """run-1: asked to revise, approved, lost its worker in flight, taken over, completed. run-2: an outcome nobody knows."""
    submitted(here, "onboard", "acme")
    answered(here, "reject", "ana", "--comment", "Name the open invoices.", "--ask-revision")
    here.cli.drive()
    answered(here, "approve", "oscar", "--comment", "Good now.")
    crashed_worker(here, "operation.in_flight")
    wait_until(here, "run-1", "completed")
    submitted(here, "letter", "birch")
    wait_until(here, "run-2", "parked")


def wait_until(here: House, run: str, state: str) -> None:
    """Drive until a run stands there; what waits for a pause is waited for by `submit --wait`'s own signal."""
    for _ in range(100):
        here.cli.drive()
        shown = here.cli.json("runs", "show", run).data
        if shown["state"] == state:
            return
        stdin = json.dumps(json.loads(_input_of(here, shown["run_id"]))).encode()
        request = shown["request_id"]
        here.cli.json(
            "submit", shown["workflow"], "--input", "-", "--request-id", request, "--wait", "0.2", stdin=stdin
        )  # fmt: skip
    raise AssertionError(shown)


def _input_of(here: House, run_id: str) -> str:
    import apsw

    with apsw.Connection(str(here.cli.folder / "counterfoil.db"), flags=apsw.SQLITE_OPEN_READONLY) as database:
        (text,) = next(database.execute("select input from runs where run_id = ?", (run_id,)))
    return str(text)


def _clean(here: House) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    return kept | here.cli.environ
