"""A served installation for tests of the API: a real process on a real socket, tokens, and what the database holds."""

import asyncio
import hashlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2

from counterfoil.app import App
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.edges.cli_bench import Cli, installed

# They move by themselves: a server's duties write them at their own times, whatever it is asked meanwhile.
NOT_COUNTED = {"workers", "sessions", "duties", "notices", "samples", "spans", "tallies"}
LIMIT = httpx2.Timeout(20)


COMMAND = [sys.executable, "-c", "from counterfoil.cli.main import run; run()"]
ENDS_WITHIN = 30


@dataclass
class House:
    """An installation and, while it is served, its address and process."""

    cli: Cli
    url: str = ""
    served: "subprocess.Popen[str] | None" = field(default=None)

    def secret(self, person: str) -> str:
        return (self.cli.folder / ".counterfoil" / f"{person}.secret").read_text().strip()

    def start(self, *argv: str) -> "subprocess.Popen[str]":
        clean = {name: value for name, value in os.environ.items() if not name.startswith("COUNTERFOIL_")}
        with (self.cli.folder / "serve.log").open("a") as log:
            return subprocess.Popen(
                [*COMMAND, *argv], cwd=self.cli.folder, env=clean | self.cli.environ, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip

    def serve(self, *options: str, port: int = 0) -> str:
        """Start `counterfoil serve` and wait for the line that says it listens. Gives the address."""
        assert self.served is None
        self.served = self.start("serve", "--port", str(port), "--json", *options)
        assert self.served.stdout is not None
        line = json.loads(self.served.stdout.readline() or "{}")
        assert line.get("ok"), (line, (self.cli.folder / "serve.log").read_text())
        assert line["data"]["pid"] == self.served.pid
        self.url = str(line["data"]["url"])
        return self.url

    def stop(self, number: int = signal.SIGTERM) -> int | None:
        """End the server, wait for its end, give its status."""
        served, self.served = self.served, None
        if served is None:
            return None
        served.send_signal(number)
        try:
            return served.wait(ENDS_WITHIN)
        finally:
            served.kill()
            served.wait()
            assert served.stdout is not None
            served.stdout.close()


@contextmanager
def house(folder: Path) -> Generator[House, None, None]:
    """One completed, two that wait for a buyer, two whose outcome is unknown, one that failed, one that waits for a signal."""
    here = House(installed(folder))
    cli = here.cli
    with SandboxProcess("key") as shop, SandboxProcess("none", fault="drop-reply:1000") as post:
        cli.environ |= {"SHOP_URL": shop.url, "COUNTERFOIL_SECRET": here.secret("ana")}
        cli.submit("buy", "100")
        cli.drive()
        cli.approve()
        for workflow, number in (("buy", "101"), ("buy", "102"), ("broken", "400"), ("waits", "500")):
            cli.submit(workflow, number)
        cli.drive()
        cli.environ["SHOP_URL"] = post.url
        for number in ("300", "301"):
            cli.submit("letter", number)
        for number in ("300", "301"):
            for _ in range(60):
                cli.drive()
                if cli.submit("letter", number, "--wait", "0.2")["state"] == "parked":
                    break
            else:
                raise AssertionError(cli.json("runs", "list").out)
        cli.environ["SHOP_URL"] = shop.url
        del cli.environ["COUNTERFOIL_SECRET"]
        try:
            yield here
        finally:
            here.stop()


@dataclass
class Served:
    """`get` and `post` as a person with a token; `raw` for everything else."""

    house: House
    tokens: dict[str, str] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return self.house.url

    @property
    def api(self) -> str:
        return f"{self.house.url}/api/v1"

    def raw(self, method: str, path: str, **more: Any) -> httpx2.Response:
        return httpx2.request(method, f"{self.url}{path}", timeout=LIMIT, trust_env=False, **more)

    def token(
        self, person: str = "ana", *, expires_in: timedelta = timedelta(days=1), workflows: list[str] | None = None
    ) -> str:
        """A new token of a person."""
        with self.environment(), closing(App("tokens", db=str(self.database))) as app:
            made = app.access.tokens.create(person, name="a test", expires_in=expires_in, workflows=workflows)
            return asyncio.run(made)["token"]

    def headers(self, person: str = "ana") -> dict[str, str]:
        if person not in self.tokens:
            self.tokens[person] = self.token(person)
        return {"Authorization": f"Bearer {self.tokens[person]}"}

    def get(self, path: str, person: str = "ana", **values: Any) -> httpx2.Response:
        return self.raw("GET", f"/api/v1{path}", headers=self.headers(person), params=values)

    def post(self, path: str, body: Any = None, person: str = "ana") -> httpx2.Response:
        return self.raw("POST", f"/api/v1{path}", headers=self.headers(person), json=body)

    def data(self, path: str, person: str = "ana", **values: Any) -> Any:
        response = self.get(path, person, **values)
        assert response.status_code == 200, response.text
        return response.json()["data"]

    @property
    def database(self) -> Path:
        return self.house.cli.folder / "counterfoil.db"

    @contextmanager
    def environment(self) -> Generator[None, None, None]:
        with mock.patch.dict(os.environ, self.house.cli.environ):
            yield

    def written(self) -> str:
        """A digest of all that is stored and does not move by itself."""
        return written(self.database)

    def entries(self) -> int:
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute("SELECT count(*) FROM entries").fetchone()[0]


def written(database: Path) -> str:
    """A digest over the rows of every table but those that move by themselves."""
    digest = hashlib.sha256()
    with closing(sqlite3.connect(database)) as connection:
        names = [
            name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type='table' ORDER BY name")
        ]
        for name in names:
            if name in NOT_COUNTED or name.startswith("sqlite_"):
                continue
            columns = [row[1] for row in connection.execute(f'PRAGMA table_info("{name}")')]
            kept = [column for column in columns if (name, column) not in MOVING]
            listed = ", ".join(f'"{column}"' for column in kept)
            for row in connection.execute(f'SELECT {listed} FROM "{name}" ORDER BY {listed}'):
                digest.update(repr((name, row)).encode())
    return digest.hexdigest()


# The installation counts batches and keeps its clock with every commit, also of a heartbeat.
MOVING = {("installation", "batches"), ("installation", "clock_us"), ("installation", "rolling")}


@contextmanager
def served(folder: Path, *options: str, **environ: str) -> Generator[Served, None, None]:
    """A lived-in installation, served without a worker unless `options` say otherwise."""
    with house(folder) as here:
        here.cli.environ |= environ
        here.serve(*(options or ("--no-worker",)))
        yield Served(here)


def shown(response: httpx2.Response) -> tuple[int, str]:
    """Status and code of a refusal; it is the one document of errors."""
    document = response.json()
    assert document["ok"] is False
    assert document["schema"] == "error/1"
    assert set(document["error"]) == {"code", "message", "safe_next", "details"}
    assert all(document["error"][name] for name in ("code", "message", "safe_next"))
    return response.status_code, document["error"]["code"]


def dumped(value: Any) -> str:
    return json.dumps(value, sort_keys=True)
