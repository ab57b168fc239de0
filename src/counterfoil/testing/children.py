"""Children of a test: processes that are killed, frozen and thawed, and say how they ended."""

import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Any, Self

WITHIN_S = 60.0


class ChildFailed(AssertionError):
    """A child did not do what was waited for. The message carries what it wrote."""


@dataclass(slots=True)
class Child:
    """One child. `status` is as from `waitpid`, None while it lives."""

    children: "Children"
    number: int
    log: Path
    pid: int = 0
    status: int | None = None
    stopped: bool = False
    said: list[Any] = field(default_factory=lambda: [])

    def wait(self) -> int:
        """Until it has ended. Gives the wait status."""
        self.children.until(self, lambda: self.status is not None, "has not ended")
        assert self.status is not None
        return self.status

    def wait_stopped(self) -> None:
        """Until it is frozen. ChildFailed when it ends instead."""
        self.children.until(self, lambda: self.stopped, "was not stopped")

    def wait_said(self, what: object) -> None:
        """Until it has said this. ChildFailed when it ends without."""
        self.children.until(self, lambda: what in self.said, f"has not said {what!r}")

    def kill(self) -> int:
        """End it by SIGKILL, also a frozen one."""
        self._signal(signal.SIGKILL)
        return self.wait()

    def freeze(self) -> None:
        """Stop it where it stands."""
        self._signal(signal.SIGSTOP)
        self.wait_stopped()

    def thaw(self) -> None:
        """Let it go on."""
        self.stopped = False
        self._signal(signal.SIGCONT)

    def process_state(self) -> str:
        """The letter in /proc/PID/stat: T is stopped."""
        return Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0]

    @property
    def exit_signal(self) -> int | None:
        """The signal that ended it."""
        return os.WTERMSIG(self.status) if self.status is not None and os.WIFSIGNALED(self.status) else None

    @property
    def exit_code(self) -> int | None:
        """Its exit code, None when a signal ended it."""
        return os.WEXITSTATUS(self.status) if self.status is not None and os.WIFEXITED(self.status) else None

    def wrote(self) -> str:
        """What it has written to standard output and error."""
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def _signal(self, what: signal.Signals) -> None:
        if self.status is None:
            with suppress(ProcessLookupError):  # it has ended, and its status is on the way
                os.kill(self.pid, what)


class Children:
    """A fork server for one application, `MODULE:NAME`, and the children it has forked. A context manager."""

    def __init__(self, target: str, *, environ: Mapping[str, str] | None = None) -> None:
        """`environ`: more settings for the server, which the application may need when it is imported."""
        self._target, self._environ = target, dict(environ or {})
        self._beside: dict[frozenset[tuple[str, str]], Children] = {}
        self._lock = RLock()
        self._made: list[Child] = []
        self._unread = b""
        self._server = subprocess.Popen(
            [sys.executable, "-m", "counterfoil.testing.fork_server", target],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=os.environ | self._environ | {"PYTHONPATH": os.pathsep.join(path or "." for path in sys.path)},
            start_new_session=True,
        )
        self._ready = False
        self._pump(lambda: self._ready, WITHIN_S)
        if not self._ready:
            self.close()
            raise ChildFailed(f"The fork server for {target} did not start.")

    def start(
        self, function: str, arguments: Mapping[str, Any], *, log: Path, environ: Mapping[str, str], seconds: int = 90
    ) -> Child:
        """Fork a child that calls `function` (MODULE:NAME) with (app, arguments, say)."""
        with self._lock:
            child = Child(self, len(self._made), log)
            self._made.append(child)
            order = {
                "number": child.number, "function": function, "arguments": dict(arguments), "environ": dict(environ),
                "log": str(log), "seconds": seconds,
            }  # fmt: skip
            assert self._server.stdin is not None
            self._server.stdin.write(json.dumps(order).encode() + b"\n")
            self._server.stdin.flush()
        self.until(child, lambda: child.pid != 0, "was not started")
        return child

    def beside(self, environ: Mapping[str, str]) -> "Children":
        """The same application in a server with more in its environment: started once, closed with this one."""
        with self._lock:
            key = frozenset(environ.items())
            if key not in self._beside:
                self._beside[key] = Children(self._target, environ=self._environ | dict(environ))
            return self._beside[key]

    def until(self, child: Child, reached: Any, otherwise: str) -> None:
        """Read what children say until something is reached. ChildFailed when the child ends, or time does, before."""
        self._pump(lambda: reached() or child.status is not None, WITHIN_S)
        if not reached():
            raise ChildFailed(f"Child {child.pid} {otherwise} (status {child.status}).\n{child.wrote()[-6000:]}")

    def close(self) -> None:
        """End the server and every child of it, and the servers beside it."""
        for other in self._beside.values():
            other.close()
        for stream in (self._server.stdin, self._server.stdout):
            if stream is not None:
                stream.close()
        try:
            self._server.wait(10)
        except subprocess.TimeoutExpired:
            self._server.kill()
            self._server.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _pump(self, reached: Any, within_s: float) -> None:
        with self._lock:
            assert self._server.stdout is not None
            out = self._server.stdout.fileno()
            while not reached():
                readable, _, _ = select.select([out], [], [], within_s)
                read = os.read(out, 65536) if readable else b""
                if not read:
                    return
                *lines, self._unread = (self._unread + read).split(b"\n")
                for line in lines:
                    self._take(json.loads(line))

    def _take(self, message: dict[str, Any]) -> None:
        if "ready" in message:
            self._ready = True
        elif "number" in message:
            self._made[message["number"]].pid = message["pid"]
        else:
            # A child may say something before the server has told its number: it is the one that has no pid yet.
            child = next((c for c in reversed(self._made) if c.pid == message["pid"] and c.status is None), None)
            child = child or next(c for c in self._made if c.pid == 0)
            child.pid = message["pid"]
            if "said" in message:
                child.said.append(message["said"])
            elif "stopped" in message:
                child.stopped = True
            else:
                child.status = message["status"]
