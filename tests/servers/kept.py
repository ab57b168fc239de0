"""A real server as a child process: its lines are waited for, it is frozen and killed whole, and it never outlives us."""

import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from tests.servers.keeper import tree

KEEPER = Path(__file__).parent / "keeper.py"
SECONDS = 60  # for a start, a stop, a line: generous on a busy machine, never reached on a good day

# Below the ports that outgoing connections take: a server that is down for a moment must find its port free again.
PORTS = range(15_000, 30_000)

ROOM = 2 << 30  # bytes that must be free in memory for a folder there


@dataclass(frozen=True, slots=True)
class Account:
    """Whom a server runs as. PostgreSQL and PgBouncer refuse root, so root gives them an account without rights."""

    user: int | None = None
    group: int | None = None


def account() -> Account:
    """This account, or for root `postgres` where it exists, else `nobody`."""
    if os.geteuid() != 0:
        return Account()
    for name in ("postgres", "nobody"):
        with contextlib.suppress(KeyError):
            found = pwd.getpwnam(name)
            return Account(found.pw_uid, found.pw_gid)
    raise LookupError("Root must start servers as somebody else, and there is neither `postgres` nor `nobody`.")


def new_folder(who: Account, *, on_disk: bool = False) -> Path:
    """An empty folder that `who` owns and can reach. Its path is short: it holds a socket.

    In memory where there is room, unless `on_disk`: a test kills processes, never the power, and there a flush takes no time.
    """
    memory = Path("/dev/shm")
    place = "/tmp" if who.user is not None else None  # root's own temporary folder may be closed to others
    if not on_disk and os.access(memory, os.W_OK) and shutil.disk_usage(memory).free >= ROOM:
        place = str(memory)
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-server-", dir=place))
    own(folder, who)
    return folder


def own(path: Path, who: Account) -> None:
    if who.user is not None and who.group is not None:
        os.chown(path, who.user, who.group)


def free_port() -> int:
    """A port that nobody listens on now. Start again with another one if somebody took it meanwhile."""
    first = int.from_bytes(os.urandom(2), "big")
    for step in range(len(PORTS)):
        port = PORTS[(first + step) % len(PORTS)]
        with socket.socket() as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            with contextlib.suppress(OSError):
                tried.bind(("127.0.0.1", port))
                return port
    raise OSError("no port is free")


class ServerEnded(Exception):
    """The server went away while something was expected of it. Says what it printed last."""


class Kept:
    """A running server. It listens for nothing before `wait_for` has seen its line of readiness.

    `end`: the signal that ends it at once, but tidily, when this process is gone. `lines`: what it printed so far.
    """

    def __init__(self, command: Sequence[str], folder: Path, who: Account, *, end: signal.Signals) -> None:
        self.lines: list[str] = []
        self._news = threading.Condition()
        self._over = False
        asked = {
            "starter": os.getpid(), "folder": str(folder), "user": who.user, "group": who.group, "end": end.value,
            "command": list(command),
        }  # fmt: skip
        self._keeper = subprocess.Popen(
            [sys.executable, "-I", "-S", str(KEEPER), json.dumps(asked)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            text=True,
            errors="replace",
        )
        assert self._keeper.stdout is not None
        with self._keeper.stdout as stdout:
            first = stdout.readline()
        threading.Thread(target=self._read, name=f"lines of {command[0]}", daemon=True).start()
        if not first:
            raise ServerEnded(self._told(f"{command[0]} did not start"))
        self.pid = int(first)

    def _read(self) -> None:
        assert self._keeper.stderr is not None
        with self._keeper.stderr as stderr:
            for line in stderr:
                with self._news:
                    self.lines.append(line.rstrip("\n"))
                    self._news.notify_all()
        with self._news:
            self._over = True
            self._news.notify_all()

    def _told(self, what: str) -> str:
        with self._news:
            self._news.wait_for(lambda: self._over, timeout=1)
        return "\n".join([what, *self.lines[-20:]])

    def wait_for(self, text: str, *, since: int = 0, seconds: float = SECONDS) -> str:
        """The first line from number `since` on that holds `text`. Raises ServerEnded, or TimeoutError."""

        def found() -> str | None:
            return next((line for line in self.lines[since:] if text in line), None)

        with self._news:
            self._news.wait_for(lambda: found() is not None or self._over, timeout=seconds)
            line, over = found(), self._over
        if line is not None:
            return line
        if over:
            raise ServerEnded(self._told(f"ended before it said {text!r}"))
        raise TimeoutError(self._told(f"did not say {text!r} within {seconds} s"))

    @property
    def alive(self) -> bool:
        return self._keeper.poll() is None

    def pids(self) -> list[int]:
        """The server and all its children, the server first."""
        return tree(self.pid)

    def freeze(self) -> None:
        """SIGSTOP to the server and all its children: connections stay open and nothing answers."""
        frozen: set[int] = set()
        # A child may be born while we walk; once its parent has stopped there is no further one.
        while new := [pid for pid in self.pids() if pid not in frozen]:
            for pid in new:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
            frozen.update(new)

    def thaw(self) -> None:
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL to the server and all its children. Returns when none is left."""
        if not self.alive:
            return  # its number may be somebody else's by now
        self.freeze()  # no child sees another one die, as none does when the machine goes
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._keeper.wait(SECONDS)

    def stop(self, by: signal.Signals) -> None:
        """Sends `by` to the server alone. Returns when none of its processes is left."""
        with contextlib.suppress(ProcessLookupError):
            if self.alive:
                os.kill(self.pid, by)
        self._keeper.wait(SECONDS)


class Server:
    """A server, its folder and its port, over all its starts: so each of its urls stays what it is."""

    def __init__(self, *, on_disk: bool = False) -> None:
        self.who: Account = account()
        self.folder: Path = new_folder(self.who, on_disk=on_disk)
        self.port: int = free_port()
        self._kept: Kept | None = None

    @property
    def kept(self) -> Kept:
        """The process: `pid`, `pids()`, `lines`, `wait_for(text)`. Raises ServerEnded before the first start."""
        if self._kept is None:
            raise ServerEnded("not started")
        return self._kept

    def kill(self) -> None:
        """SIGKILL to the server and all its children, as when the machine dies. It can be started again."""
        self.kept.kill()

    def freeze(self) -> None:
        """SIGSTOP to all of it: connections stay open, nothing answers."""
        self.kept.freeze()

    def thaw(self) -> None:
        self.kept.thaw()

    def close(self) -> None:
        """Ends it and removes its folder."""
        if self._kept is not None:
            self._kept.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
