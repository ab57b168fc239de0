"""A warm process: it has imported the command line and the application, and forks one child for each command.

Each command is a process of its own, with its own id, environment and death; only the two seconds in which Python
imports a model's libraries are not spent twenty times. `python -m counterfoil.examples.demo.warm APP`. Standard input
takes one JSON object a line, {argv, cwd, environment, out, err} or {stop: pid}; standard output gives {started: pid} in
the order of the requests, and {ended: pid, status}. When the input ends, so do the children.
"""

import json
import os
import select
import signal
import sys
from collections.abc import MutableMapping
from contextlib import suppress
from importlib import import_module
from types import FrameType
from typing import Any, NoReturn, cast

from counterfoil import settings
from counterfoil.cli.main import run
from counterfoil.cli.tree import root
from counterfoil.model.errors import Refused


def main() -> None:
    """Serve until standard input closes."""
    root()
    with suppress(Refused):  # the command that needs it will say what is wrong
        from counterfoil.app import load_app

        load_app(sys.argv[1])
    with suppress(ImportError):
        import_module("pydantic_ai.models.openai")  # what an agent loads when it is first asked
    wake, woken = os.pipe()
    for end in (wake, woken):
        os.set_blocking(end, False)
    signal.signal(signal.SIGCHLD, _noticed)
    signal.set_wakeup_fd(woken)
    _say({"ready": os.getpid()})
    children: set[int] = set()
    try:
        _serve(wake, children)
    finally:
        for pid in children:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)


def _serve(wake: int, children: set[int]) -> None:
    pending = b""
    while True:
        readable, _, _ = select.select([0, wake], [], [])
        if wake in readable:
            with suppress(BlockingIOError):
                os.read(wake, 4096)
            _reap(children)
        if 0 in readable:
            chunk = os.read(0, 65536)
            if not chunk:
                return
            *lines, pending = (pending + chunk).split(b"\n")
            for line in lines:
                _do(json.loads(line), children)


def _do(request: dict[str, Any], children: set[int]) -> None:
    if "stop" in request:
        # Not reaped yet, so the id is still this child's and nobody else's.
        if request["stop"] in children:
            os.kill(request["stop"], request["signal"])
        return
    pid = os.fork()
    if pid == 0:
        _become(request)
    children.add(pid)
    _say({"started": pid})


def _become(request: dict[str, Any]) -> NoReturn:
    """Be the process of one command, and never return into the loop above."""
    status = 70
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        os.chdir(request["cwd"])
        for target, place, how in (
            (0, os.devnull, os.O_RDONLY),
            (1, request["out"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC),
            (2, request["err"], os.O_WRONLY | os.O_CREAT | os.O_APPEND),
        ):
            opened = os.open(place, how, 0o600)
            os.dup2(opened, target)
            os.close(opened)
        environment = cast(MutableMapping[str, str], settings.environment())
        environment.clear()
        environment.update(request["environment"])
        sys.argv = ["counterfoil", *request["argv"]]
        run()
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
    finally:
        with suppress(OSError, ValueError):
            sys.stdout.flush()
        os._exit(status)


def _reap(children: set[int]) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid == 0:
            return
        children.discard(pid)
        _say({"ended": pid, "status": os.waitstatus_to_exitcode(status)})


def _say(said: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(said) + "\n")
    sys.stdout.flush()


def _noticed(number: int, frame: FrameType | None) -> None:
    """The wake-up pipe says it; a handler must be there for the signal to arrive at all."""
    del number, frame


if __name__ == "__main__":
    main()
