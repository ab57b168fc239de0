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
from tests.browser.apart import COMMAND, ENDS_WITHIN, Apart
from tests.browser.house import House
from tests.browser.records_application import SOURCE
from tests.edges.cli_bench import installed

DROPS = "drop-reply:1000"
TRIES = 60


@contextmanager
def records_house(folder: Path) -> Generator[House, None, None]:
    """Founded with ana and oscar; nothing has run yet, nothing is served yet."""
    with ExitStack() as stack:
        made = installed(folder, app=SOURCE)
        sandboxes = {
            "CRM_URL": stack.enter_context(SandboxProcess("key")),
            "POST_URL": stack.enter_context(SandboxProcess("none", fault=DROPS)),
            "PARCELS_URL": stack.enter_context(SandboxProcess("lookup")),
        }
        made.environ |= {name: sandbox.url for name, sandbox in sandboxes.items()}
        cli = Apart(made.folder, made.environ)
        stack.callback(cli.close)
        here = House(cli, sandboxes)
        stack.callback(here.stop)
        yield here


def submitted(here: House, workflow: str, customer: str, *, drive: bool = True) -> dict[str, Any]:
    """Submit a run and drive it as far as it goes. Gives RUN."""
    request = f"{workflow}-{customer}"
    told = _cli(here).data(
        "submit", workflow, "--input", "-", "--request-id", request, stdin={"customer": customer}
    )  # fmt: skip
    if drive:
        here.cli.drive()
    return shown(here, told["run_id"])


def shown(here: House, run: str) -> dict[str, Any]:
    """RUN."""
    return _cli(here).data("runs", "show", run)


def newest_review(here: House) -> dict[str, Any]:
    """The review that was opened last."""
    return _cli(here).data("reviews", "list")["items"][0]


def answered(here: House, word: str, person: str, *more: str) -> None:
    """A person answers the newest open review."""
    review = _cli(here).data("reviews", "list", "--state", "open")["items"][0]
    here.cli.environ["COUNTERFOIL_SECRET"] = here.secret(person)
    _cli(here).data("reviews", word, review["review_id"], "--digest", review["digest"], "--by", person, *more)
    del here.cli.environ["COUNTERFOIL_SECRET"]


def crashed_worker(here: House, boundary: str) -> None:
    """A worker of its own, which is killed at a boundary."""
    ended = subprocess.run(
        [*COMMAND, "worker", "--until-idle"], cwd=here.cli.folder, stdin=subprocess.DEVNULL, capture_output=True,
        env=_environ(here) | {"COUNTERFOIL_CRASH_AT": boundary}, timeout=ENDS_WITHIN, check=False,
    )  # fmt: skip
    assert ended.returncode == -signal.SIGKILL, ended


@contextmanager
def worker(here: House) -> Generator["subprocess.Popen[bytes]", None, None]:
    """A worker process beside the server, ended with the block."""
    process = subprocess.Popen(
        [*COMMAND, "worker"], cwd=here.cli.folder, env=_environ(here), stdin=subprocess.DEVNULL,
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


def wait_until(here: House, run: str, state: str) -> dict[str, Any]:
    """Drive until a run stands there. A pause between tries is waited for by `submit --wait`, which the run's own move ends."""
    for _ in range(TRIES):
        here.cli.drive()
        now = shown(here, run)
        if now["state"] == state:
            return now
        workflow, request = now["workflow"], now["request_id"]
        stdin = json.dumps({"customer": request.removeprefix(f"{workflow}-")}).encode()
        here.cli.json("submit", workflow, "--input", "-", "--request-id", request, "--wait", "0.2", stdin=stdin)
    raise AssertionError(shown(here, run))


def _environ(here: House) -> dict[str, str]:
    """What a process of this installation is given."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    return kept | here.cli.environ


def _cli(here: House) -> Apart:
    assert isinstance(here.cli, Apart)
    return here.cli
