"""The provider of the tests as a child process, and a browser that walks through its login page."""

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qsl, urlsplit

import httpx2
from joserfc.jwk import RSAKey

SCRIPT = Path(__file__).parent / "oidc_provider.mjs"
REDIRECT = "http://127.0.0.1:1/signed-in"  # nobody listens there: the browser stops before it
CLIENT, OTHER = "counterfoil", "another"
SECRET = "only for tests on loopback, and long enough for any hash"


def new_key(key_id: str) -> RSAKey:
    return RSAKey.generate_key(2048, {"kid": key_id, "use": "sig", "alg": "RS256"})


class OidcProvider:
    """Listens from construction to `close`. `key` signs its tokens; `port` 0 takes a free one."""

    def __init__(self, key: RSAKey, *, port: int = 0) -> None:
        clients = [
            {
                "client_id": name, "client_secret": SECRET, "redirect_uris": [REDIRECT], "response_types": ["code"],
                "grant_types": ["authorization_code"],
            }
            for name in (CLIENT, OTHER)
        ]  # fmt: skip
        self._child = subprocess.Popen(
            ["node", str(SCRIPT)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        keys = {"keys": [key.as_dict(private=True)]}
        self._child.stdin.write(json.dumps({"port": port, "keys": keys, "clients": clients}) + "\n")
        self._child.stdin.flush()
        line = self._child.stdout.readline()
        assert line, "the provider did not start"
        self.url: str = json.loads(line)["url"]
        self.port = urlsplit(self.url).port or 0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Its standard input ends, and with it the process."""
        if self._child.poll() is None:
            assert self._child.stdin is not None
            self._child.stdin.close()
            self._child.wait(timeout=10)
        for stream in (self._child.stdin, self._child.stdout):
            if stream is not None:
                stream.close()


def walked(url: str, who: str) -> dict[str, str]:
    """What a browser brings back that goes to `url` and logs in as SUBJECT, or SUBJECT:NAME."""
    with httpx2.Client(timeout=10, trust_env=False) as browser:
        here = f"{url}&login_hint={who}"
        for _ in range(8):
            reply = browser.get(here)
            here = str(httpx2.URL(here).join(reply.headers["location"]))
            if here.startswith(REDIRECT):
                return dict(parse_qsl(urlsplit(here).query))
    raise AssertionError(f"the login page does not end: {here}")


class Swapping(httpx2.AsyncBaseTransport):
    """The wire to the provider. What is named in `swapped` stands in for that field of its token answer; `asked` keeps paths."""

    def __init__(self) -> None:
        self.swapped: dict[str, Any] = {}
        self.seen: dict[str, Any] = {}
        self.asked: list[str] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request.url.path)
        async with httpx2.AsyncHTTPTransport() as wire:  # a connection for each: a test has more than one event loop
            reply = await wire.handle_async_request(request)
            body = json.loads(await reply.aread())
        if request.url.path == "/token":
            self.seen = body
            body = body | self.swapped
        return httpx2.Response(reply.status_code, json=body, request=request)
