"""Start a loopback server as a child process and talk to its control address."""

import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from counterfoil.testing.loopback.controlled import Controlled, LoopbackFailed
from counterfoil.testing.loopback.digest import as_object, parse_json

__all__ = ["LoopbackFailed", "LoopbackProcess"]

READY_WITHIN_SECONDS = 15.0
END_WITHIN_SECONDS = 5.0


class LoopbackProcess(Controlled):
    """A server in its own process and process group, from construction until `close`; use it as a context manager.

    It ends when this process ends, however that happens, because its standard input ends then.
    """

    module: str

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the child.
        self._child = subprocess.Popen(
            [sys.executable, "-m", self.module, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,  # Ctrl-C in a terminal goes to us, and we decide when the server ends.
        )
        try:
            self.ready = self._read_ready_line()
        except BaseException:
            self.kill()
            raise
        self.url = str(self.ready["url"])
        self.control_url = str(self.ready["control_url"])
        self.pid = self._child.pid

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> int:
        """Close the server's input and wait for its end; its exit status, 0 after a normal end. May be called twice."""
        if self._child.stdin is not None:
            self._child.stdin.close()
        try:
            self._child.wait(END_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
        return self._reap()

    def kill(self) -> int:
        """End the server at once (SIGKILL), as a crash would."""
        self._child.kill()
        return self._reap()

    def _reap(self) -> int:
        status = self._child.wait()
        for stream in (self._child.stdin, self._child.stdout, self._errors):
            if stream is not None:
                stream.close()
        return status

    def _read_ready_line(self) -> dict[str, object]:
        assert self._child.stdout is not None
        readable, _, _ = select.select([self._child.stdout], [], [], READY_WITHIN_SECONDS)
        line = self._child.stdout.readline() if readable else b""
        if not line.endswith(b"\n"):
            self._child.kill()
            self._child.wait()
            self._errors.seek(0)
            said = self._errors.read().decode(errors="replace").strip()
            raise LoopbackFailed(f"{self.module} did not start: {said or 'no ready line'}")
        return as_object(parse_json(line))
