"""A served installation with something in every state: `counterfoil serve` as a child process, receivers beside it."""

import json
import signal
import subprocess
import sys
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from counterfoil.testing.sandbox.process import SandboxProcess
from tests.browser.application import SOURCE
from tests.edges.cli_bench import Cli, installed, order

COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
ENDS_WITHIN = 30


@dataclass
class House:
    """An installation, its receivers and, while it is served, its address."""

    cli: Cli
    sandboxes: dict[str, SandboxProcess]
    url: str = ""
    served: "subprocess.Popen[str] | None" = field(default=None)

    def secret(self, person: str) -> str:
        return (self.cli.folder / ".counterfoil" / f"{person}.secret").read_text().strip()

    def serve(self, *options: str) -> str:
        """Start `counterfoil serve` and wait for the line that says it listens. Gives the address."""
        assert self.served is None
        port = self.url.rpartition(":")[2] or "0"  # again at the same place, so that an open page finds it
        argv = [*COMMAND, "serve", "--port", port, "--json", *options]
        with (self.cli.folder / "serve.log").open("a") as log:
            self.served = subprocess.Popen(
                argv, cwd=self.cli.folder, env=_environment(self.cli), stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self.served.stdout is not None
        line = self.served.stdout.readline()
        assert line, (self.cli.folder / "serve.log").read_text()
        self.url = str(json.loads(line)["data"]["url"])
        return self.url

    def stop(self) -> None:
        """End the server and wait for its end."""
        served, self.served = self.served, None
        if served is None:
            return
        served.send_signal(signal.SIGTERM)
        try:
            served.wait(ENDS_WITHIN)
        except subprocess.TimeoutExpired:
            served.kill()
            served.wait(ENDS_WITHIN)
        assert served.stdout is not None
        served.stdout.close()


@contextmanager
def house(folder: Path, *, empty: bool = False) -> Generator[House, None, None]:
    """Founded, lived in (unless `empty`), not served yet."""
    with ExitStack() as stack:
        cli = installed(folder, app=SOURCE)
        sandboxes = {
            "SHOP_URL": stack.enter_context(SandboxProcess("key")),
            "POST_URL": stack.enter_context(SandboxProcess("none", fault="drop-reply:1000")),
            "PARCELS_URL": stack.enter_context(SandboxProcess("lookup")),
        }
        cli.environ |= {name: sandbox.url for name, sandbox in sandboxes.items()}
        cli.environ |= {"COUNTERFOIL_SECRET": (cli.folder / ".counterfoil" / "ana.secret").read_text().strip()}
        here = House(cli, sandboxes)
        if not empty:
            lived_in(here)
        del cli.environ["COUNTERFOIL_SECRET"]
        try:
            yield here
        finally:
            here.stop()


@contextmanager
def served_by(here: House, argv: list[str]) -> Generator["subprocess.Popen[str]", None, None]:
    """Another program in the installation's folder, which prints a line when it listens. Ended with the block."""
    with (here.cli.folder / "serve.log").open("a") as log:
        process = subprocess.Popen(
            argv, cwd=here.cli.folder, env=_environment(here.cli), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=log, text=True,
        )  # fmt: skip
    with process:
        try:
            yield process
        finally:
            process.terminate()
            process.wait(ENDS_WITHIN)


def lived_in(here: House) -> None:
    """One completed, two that wait for a buyer, two whose outcome is unknown, one that failed, one that waits for a signal."""
    cli = here.cli
    cli.submit("buy", "100")
    cli.drive()
    cli.approve()
    for workflow, number in (
        ("parcel", "200"), ("buy", "101"), ("buy", "102"), ("letter", "300"), ("letter", "301"), ("broken", "400"),
        ("waits", "500"),
    ):  # fmt: skip
        cli.submit(workflow, number)
    cli.drive()
    for number in ("300", "301"):  # the post answers nobody: after its last try the outcome is unknown
        parked(cli, "letter", number)


def parked(cli: Cli, workflow: str, number: str) -> None:
    """Drive until a person must move the run; its pauses are waited for by `submit --wait`'s own signal."""
    wait = ("submit", workflow, "--input", "-", "--request-id", f"{workflow}-{number}", "--wait", "0.5")
    for _ in range(60):
        cli.drive()
        if cli.json(*wait, stdin=order(number)).data["state"] == "parked":
            return
    raise AssertionError(cli.json("runs", "list").data)


def _environment(cli: Cli) -> dict[str, str]:
    import os

    clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
    return clean | cli.environ
