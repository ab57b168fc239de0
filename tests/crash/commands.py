"""A command of the command line as a forked child: what it needs is imported already, and its application is loaded anew."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterfoil import App
from counterfoil.cli.main import main
from counterfoil.testing.case_ledger import MakeLedger
from counterfoil.testing.children import Child, Children
from tests.edges.cli_bench import Cli, installed


def runs(app: App, arguments: dict[str, Any], say: Callable[[object], None]) -> None:
    """{folder, argv}. The child ends with the command's own status."""
    del app, say
    os.chdir(arguments["folder"])
    sys.path.insert(0, arguments["folder"])
    status = main(arguments["argv"])
    sys.stdout.flush()
    os._exit(status)


def command(forks: Children, folder: Path, *argv: str, environ: dict[str, str]) -> Child:
    """Run `counterfoil ARGV` in a folder until it ends, or is killed."""
    arguments = {"folder": str(folder), "argv": list(argv)}
    child = forks.start("tests.crash.commands:runs", arguments, log=folder / "command.log", environ=environ)
    child.wait()
    return child


def installed_on(ledgers: MakeLedger, folder: Path, app: str) -> Cli:
    """A folder that `init` has made for this application, with a ledger of the test's backend. Commands find it by their environment."""
    (folder / "ledger").mkdir()
    ledger = ledgers(folder / "ledger")
    environ = {"COUNTERFOIL_DB": ledger.db, **ledger.environ}
    return installed(folder, "--db", ledger.db, app=app, environ=environ)
