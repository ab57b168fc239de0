"""`python -m counterfoil.testing.fork_server MODULE:NAME`: imports an application once, and forks a child for each order.

Orders are JSON lines on standard input: {number, function, arguments, environ, log, seconds}. What becomes of children
goes out as JSON lines: {number, pid}, {pid, said}, {pid, stopped}, {pid, status}. At the end of input all children die.
What the application prints, at import or later, goes to standard error: only those lines go out.

A child calls `function(app, arguments, say)` and ends with 0, or with 1 and a traceback in `log`.
"""

import importlib
import json
import os
import select
import signal
import sys
import traceback
from collections.abc import Callable
from contextlib import suppress
from types import FrameType
from typing import Any, NoReturn

from counterfoil.app.application import App, load_app
from counterfoil.receivers.wire import tls

Say = Callable[[object], None]


def main() -> None:
    """Serve until the input closes. This process has one thread, so what it forks is whole."""
    out = _apart()
    app = load_app(sys.argv[1])
    _warm()
    wake, waker = os.pipe()
    os.set_blocking(waker, False)
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(waker)
    signal.signal(signal.SIGCHLD, _woken)
    _tell({"ready": os.getpid()}, out)
    children: set[int] = set()
    waiting = b""
    while True:
        ready, _, _ = select.select([0, wake], [], [])
        if wake in ready:
            os.read(wake, 4096)
            _reap(children, out)
        if 0 in ready:
            read = os.read(0, 65536)
            if not read:
                break
            *lines, waiting = (waiting + read).split(b"\n")
            for line in lines:
                _start(app, json.loads(line), children, (wake, waker), out)
    for pid in children:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _woken(number: int, frame: FrameType | None) -> None:
    """A child has ended or stopped: the wake-up descriptor says so to the loop."""


def _warm() -> None:
    """Load what a first exchange would load, once for all children; and what an agent loads when it is first asked."""
    tls()
    for name in ("anyio._backends._asyncio", "httpcore2"):
        importlib.import_module(name)
    with suppress(ImportError):  # the driver of a server is an extra
        importlib.import_module("counterfoil.store.postgres")
    if "pydantic_ai" in sys.modules:
        with suppress(ImportError):
            importlib.import_module("pydantic_ai.models.openai")


def _apart() -> int:
    """The descriptor that only our lines are written to. What anybody prints, C code and other programs too, is apart."""
    out = os.dup(1)
    os.dup2(2, 1)
    return out


def _reap(children: set[int], out: int) -> None:
    while children:
        pid, status = os.waitpid(-1, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return
        if os.WIFSTOPPED(status):
            _tell({"pid": pid, "stopped": os.WSTOPSIG(status)}, out)
        else:
            children.discard(pid)
            _tell({"pid": pid, "status": status}, out)


def _start(app: App, order: dict[str, Any], children: set[int], ours: tuple[int, int], out: int) -> None:
    with suppress(Exception):  # once for all children; the child tells what is wrong with it
        importlib.import_module(order["function"].partition(":")[0])
    pid = os.fork()
    if pid == 0:
        _be_child(app, order, ours, out)
    children.add(pid)
    _tell({"number": order["number"], "pid": pid}, out)


def _be_child(app: App, order: dict[str, Any], ours: tuple[int, int], out: int) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for descriptor in ours:
            os.close(descriptor)
        log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(log, 1)
        os.dup2(log, 2)
        signal.alarm(order["seconds"])  # a forgotten child ends by itself
        os.environ.update(order["environ"])
        module, _, name = order["function"].partition(":")

        def say(said: object) -> None:
            _tell({"pid": os.getpid(), "said": said}, out)

        getattr(importlib.import_module(module), name)(app, order["arguments"], say)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _tell(message: object, out: int) -> None:
    os.write(out, json.dumps(message).encode() + b"\n")


if __name__ == "__main__":
    main()
