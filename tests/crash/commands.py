"""A command of the command line as a forked child: what it needs is imported already, and its application is loaded anew."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from counterfoil import App
from counterfoil.cli.main import main
from counterfoil.testing.children import Child, Children


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
