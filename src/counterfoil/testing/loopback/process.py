"""Start a loopback server as a child process and talk to its control address."""

import json
import select
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from http.client import HTTPConnection
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from counterfoil.testing.loopback.digest import as_object, as_objects, parse_json

READY_WITHIN_SECONDS = 15.0
END_WITHIN_SECONDS = 5.0
ANSWER_WITHIN_SECONDS = 70.0
"""Longer than the longest wait of a control request."""


class LoopbackFailed(RuntimeError):
    """The server did not start, or refused a control request. The message carries what it said."""


class LoopbackProcess:
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

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None, **more: object) -> None:
        """Arm a fault for the next `count` writes. `more`: status and body of `refuse`. LoopbackFailed for no such fault."""
        body: dict[str, object] = {"fault": name, "count": count, **more}
        self.post("fault", body if seconds is None else {**body, "seconds": seconds})

    def wait(self, *, requests: int, seconds: float = 30.0) -> None:
        """Wait until so many writes have been decided since the start. TimeoutError when they have not in time."""
        if not self.post("wait", {"requests": requests, "seconds": seconds})["reached"]:
            raise TimeoutError(f"{requests} writes had not reached {self.url} within {seconds} s")

    def wait_arrived(self, requests: int, *, seconds: float = 30.0) -> None:
        """Wait until so many writes have come since the start, decided or not. TimeoutError when they have not in time."""
        if not self.post("wait", {"arrived": requests, "seconds": seconds})["reached"]:
            raise TimeoutError(f"{requests} writes had not come to {self.url} within {seconds} s")

    def release(self) -> None:
        """Let go of what `slow` and `queued` hold back."""
        self.post("release")

    def requests(self) -> list[dict[str, object]]:
        """The request log, oldest first."""
        return as_objects(self.get("requests")["items"])

    def get(self, name: str) -> dict[str, object]:
        """`GET control_url/name`."""
        return self._control("GET", name, None)

    def post(self, name: str, body: dict[str, object] | None = None) -> dict[str, object]:
        """`POST control_url/name`."""
        return self._control("POST", name, json.dumps(body or {}).encode())

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

    def _control(self, method: str, name: str, body: bytes | None) -> dict[str, object]:
        place = urlsplit(f"{self.control_url}/{name}")
        connection = HTTPConnection(place.hostname or "", place.port, timeout=ANSWER_WITHIN_SECONDS)
        try:
            connection.request(method, place.path, body=body)
            response = connection.getresponse()
            answer = as_object(parse_json(response.read()))
        finally:
            connection.close()
        if response.status != 200:
            raise LoopbackFailed(str(as_object(answer.get("error")).get("message")))
        return answer
