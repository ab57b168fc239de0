"""A server as a child process: found where set-up laid it, waited for by a line, and gone when we are, however we went."""

import os
import shutil
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from counterfoil.model.errors import Refused

APART = Path(".build/servers/bin")  # an environment of its own: what such servers ask for does not fit beside ours
END_WITHIN_SECONDS = 10
READY_WITHIN_SECONDS = 60
KEPT_LINES = 200

# Between us and the server: it ends the server when its standard input does, and the kernel ends the server with it.
KEEPER = """
import ctypes, os, signal, subprocess, sys, threading
die_with_parent = getattr(ctypes.CDLL(None), "prctl", lambda *_: None)
user, group = (int(each) if each else None for each in sys.argv[1].split(":"))
server = subprocess.Popen(
    sys.argv[2:], stdin=subprocess.DEVNULL, stderr=subprocess.STDOUT, user=user, group=group,
    extra_groups=None if user is None else [], preexec_fn=lambda: die_with_parent(1, signal.SIGKILL),
)
threading.Thread(target=lambda: (sys.stdin.buffer.read(), server.kill()), daemon=True).start()
os._exit(server.wait() & 255)
"""


def program(name: str, *, package: str) -> Path:
    """A command of the environment for servers, or of the PATH. Raises Refused(tool_missing) that says how to install it."""
    above = [parent / APART for parent in Path(__file__).parents]
    found = next((place / name for place in (APART, *above) if (place / name).is_file()), None) or shutil.which(name)
    if found is None:
        raise Refused(
            "tool_missing", tool=name, install=f"Install it in an environment of its own: pip install '{package}'"
        )
    return Path(found).absolute()


class Started:
    """A running server, from construction until `close`. It listens for nothing before `wait_for` has seen its line.

    `account`: the user and the group as whom root starts it.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str] | None = None,
        account: tuple[int, int] | None = None,
    ) -> None:
        self._name = name
        self._lines: deque[str] = deque(maxlen=KEPT_LINES)
        self._news = threading.Condition()
        self._over = False
        self._child = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", KEEPER, ":" if account is None else "{}:{}".format(*account), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | dict(environ or {}),
            start_new_session=True,
            text=True,
            errors="replace",
        )
        threading.Thread(target=self._read, name=f"lines of {name}", daemon=True).start()

    def _read(self) -> None:
        assert self._child.stdout is not None, "asked for by PIPE"
        with self._child.stdout as lines:
            for line in lines:
                with self._news:
                    self._lines.append(line.rstrip())
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def wait_for(self, text: str) -> str:
        """What follows `text` in the first line that holds it. Refused(tool_missing) where it ends, or takes too long."""

        def found() -> str | None:
            return next((line for line in self._lines if text in line), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None or self._over, timeout=READY_WITHIN_SECONDS)
            line, last = found(), "\n".join(self._lines)
        if line is not None:
            return line.partition(text)[2].strip()
        self.close()
        raise Refused("tool_missing", tool=f"A working {self._name}", install=f"It did not say {text!r}:\n{last}")

    @property
    def pid(self) -> int:
        """Of the process that keeps the server; the server is its child."""
        return self._child.pid

    def close(self) -> int:
        """End the server. May be called twice."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            return self._child.wait(END_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()


class Serving:
    """What servers have in common: `with Server() as server`, and `close`."""

    _started: Started

    @property
    def pid(self) -> int:
        """Of the process that keeps the server."""
        return self._started.pid

    def close(self) -> int:
        """End it. May be called twice."""
        return self._started.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
