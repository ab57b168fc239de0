"""Talk to the control address of a stand-in, wherever that runs."""

import json
from http.client import HTTPConnection
from urllib.parse import urlsplit

from counterfoil.testing.loopback.digest import as_object, as_objects, parse_json

ANSWER_WITHIN_SECONDS = 70.0
"""Longer than the longest wait of a control request."""


class LoopbackFailed(RuntimeError):
    """The server did not start, or refused a control request. The message carries what it said."""


class Controlled:
    """A stand-in that serves at `url`, and is seen and changed at `control_url`."""

    url: str
    control_url: str

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
