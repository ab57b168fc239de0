"""The npm package stripe-stateful-mock: a payment provider that keeps keys as Stripe v1 does."""

import json
import shutil
import subprocess
from http.client import HTTPConnection
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from counterfoil.model.errors import Refused
from counterfoil.testing.loopback.digest import as_object, as_objects
from counterfoil.testing.loopback.process import END_WITHIN_SECONDS

KEY = "sk_test_counterfoil"
PACKAGE = "stripe-stateful-mock"
INSTALL = f"npm install {PACKAGE}@0.0.16"
PLACES = (Path("node_modules"), Path("tests/servers/npm/node_modules"))
# The server's own start script listens on every interface. It ends when its standard input does.
SCRIPT = """
const server = require(process.argv[1]).createExpressApp().listen(0, "127.0.0.1", () => console.log(server.address().port));
process.stdin.resume().on("end", () => process.exit(0));
"""


def installed() -> tuple[str, Path]:
    """The node program and the server's package. Raises Refused(tool_missing) with the command that installs it."""
    node = shutil.which("node")
    above = (parent / "tests/servers/npm/node_modules" for parent in Path(__file__).parents)
    found = next((place / PACKAGE for place in (*PLACES, *above) if (place / PACKAGE / "package.json").is_file()), None)
    if node is None or found is None:
        tool = "node, with npm," if node is None else f"The npm package {PACKAGE}"
        raise Refused("tool_missing", tool=tool, install=f"Install it: {INSTALL}")
    return node, found.absolute()


class PaymentProvider:
    """The server, from construction until `close`. Charges live in its memory."""

    def __init__(self) -> None:
        node, package = installed()
        self._child = subprocess.Popen(
            [node, "-e", SCRIPT, str(package)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._child.stdout is not None, "asked for by PIPE"
        line = self._child.stdout.readline().strip()
        if not line.isdigit():
            self.close()
            raise Refused("tool_missing", tool=f"A working {PACKAGE}", install=f"Install it anew: {INSTALL}")
        self.url = f"http://127.0.0.1:{int(line)}"

    def charge(self, amount: int, *, source: str = "tok_visa", key: str | None = None) -> tuple[int, dict[str, Any]]:
        """A card payment: (status, charge)."""
        return self._ask("POST", "/v1/charges", {"amount": amount, "currency": "eur", "source": source}, key)

    def refunds(self, charge: str) -> list[str]:
        """The ids of a charge's refunds, by the provider's own account."""
        return [str(item["id"]) for item in self.refunds_of(charge)]

    def refunds_of(self, charge: str) -> list[dict[str, Any]]:
        """A charge's refunds as the provider shows them."""
        _, page = self._ask("GET", f"/v1/refunds?{urlencode({'charge': charge, 'limit': 100})}", None, None)
        return as_objects(page["data"])

    def close(self) -> int:
        """End the server. May be called twice."""
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()
        try:
            return self._child.wait(END_WITHIN_SECONDS)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _ask(self, method: str, path: str, form: dict[str, Any] | None, key: str | None) -> tuple[int, dict[str, Any]]:
        place = urlsplit(self.url)
        connection = HTTPConnection(place.hostname or "", place.port, timeout=10)
        headers = {"Authorization": f"Bearer {KEY}", "Content-Type": "application/x-www-form-urlencoded"}
        try:
            connection.request(method, path, urlencode(form or {}), headers | ({"Idempotency-Key": key} if key else {}))
            response = connection.getresponse()
            return response.status, as_object(json.loads(response.read()))
        finally:
            connection.close()
