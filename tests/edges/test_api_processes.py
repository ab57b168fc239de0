"""`counterfoil serve` as a process: signals, refusals at start, development mode, a mount in a host's application, a killed server."""

import asyncio
import json
import os
import signal
import sqlite3
import threading
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any
from unittest import mock

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from counterfoil.app import App
from counterfoil.console.asgi import asgi
from tests.edges.api_bench import House, Served, house, shown


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    with house(tmp_path_factory.mktemp("processes")) as built:
        yield built


@pytest.fixture
def stopped(here: House) -> Generator[House, None, None]:
    here.stop()
    yield here
    here.stop()


def test_worker_and_console_in_one_process_are_drained_together(stopped: House) -> None:
    stopped.serve()
    bench = Served(stopped)
    (worker, *_) = bench.data("/workers")["items"]
    assert (worker["pid"], worker["alive"]) == (stopped.served.pid if stopped.served else 0, True)
    assert stopped.stop(signal.SIGTERM) == 0
    ended = stopped.cli.json("workers", "list").data["items"][0]
    assert ended["worker_id"] == worker["worker_id"]
    assert ended["stopped_at"] is not None


def test_without_a_worker_nothing_is_driven(stopped: House) -> None:
    before = len(stopped.cli.json("workers", "list").data["items"])
    stopped.serve("--no-worker")
    bench = Served(stopped)
    bench.post("/runs", {"workflow": "waits", "input": {"number": "1"}, "request_id": "not driven"})
    assert bench.data("/runs", workflow="waits", limit=1)["items"][0]["state"] == "pending"
    assert stopped.stop(signal.SIGINT) == 0
    assert len(stopped.cli.json("workers", "list").data["items"]) == before


REFUSED = [
    (("--development", "--host", "0.0.0.0"), "usage"),
    (("--host", "203.0.113.1"), "usage"),
    (("--as", "ana"), "usage"),
]


@pytest.mark.parametrize(("argv", "code"), REFUSED)
def test_what_is_refused_at_start(stopped: House, argv: tuple[str, ...], code: str) -> None:
    child = stopped.start("serve", "--port", "0", "--json", *argv)
    out, _ = child.communicate(timeout=60)
    document = json.loads(out)
    assert (child.returncode, document["error"]["code"]) == (2, code)


def test_a_port_that_is_taken_is_named(stopped: House) -> None:
    stopped.serve("--no-worker")
    child = stopped.start("serve", "--no-worker", "--json", "--port", stopped.url.rpartition(":")[2])
    out, _ = child.communicate(timeout=60)
    assert json.loads(out)["error"]["code"] == "usage"
    assert "in use" in json.loads(out)["error"]["message"]


def test_development_signs_in_without_a_secret_on_loopback_only(stopped: House) -> None:
    stopped.serve("--no-worker", "--development", "--as", "ana")
    bench = Served(stopped)
    me = bench.raw("GET", "/api/v1/me").json()["data"]
    assert (me["name"], me["how"]) == ("ana", "development")
    foreign = bench.raw("GET", "/api/v1/me", headers={"Host": "rebound.example"})
    assert shown(foreign) == (403, "foreign_request")
    # A proxy on this machine names our own address, and brings whoever asks it.
    for name in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via"):
        assert shown(bench.raw("GET", "/api/v1/me", headers={name: "203.0.113.9"})) == (403, "foreign_request")
    body = {"reason": "x", "all": True}
    assert shown(bench.raw("POST", "/api/v1/writes/suspend", json=body)) == (403, "foreign_request")
    own = {"Origin": bench.url}
    assert bench.raw("POST", "/api/v1/writes/suspend", json=body, headers=own).status_code == 200
    assert bench.raw("POST", "/api/v1/writes/resume", json=body, headers=own).status_code == 200


def test_only_a_trusted_proxy_says_where_a_request_comes_from(stopped: House) -> None:
    forwarded = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https", "Host": "console.example"}
    sign_in = {"name": "ana", "secret": stopped.secret("ana")}
    stopped.serve("--no-worker")
    plain = Served(stopped).raw(
        "POST", "/sign-in", data=sign_in, headers=forwarded | {"Origin": "https://console.example"}
    )
    assert plain.status_code == 403  # it came by http, whatever it says
    stopped.stop()
    with mock.patch.dict(stopped.cli.environ, {"COUNTERFOIL_TRUSTED_PROXIES": "127.0.0.1"}):
        stopped.serve("--no-worker")
    behind = Served(stopped).raw(
        "POST", "/sign-in", data=sign_in, headers=forwarded | {"Origin": "https://console.example"}
    )
    assert behind.status_code == 303
    assert behind.headers["set-cookie"].startswith("__Host-counterfoil=")
    assert "secure" in behind.headers["set-cookie"].lower()
    assert behind.headers["strict-transport-security"]
    assert shown(Served(stopped).raw("GET", "/metrics", headers=forwarded)) == (401, "not_signed_in")


def test_metrics_are_open_on_loopback_or_for_a_token(stopped: House) -> None:
    stopped.serve("--no-worker")
    bench = Served(stopped)
    response = bench.raw("GET", "/metrics")
    assert response.status_code == 200
    assert "# HELP counterfoil_operations_unresolved" in response.text
    stopped.stop()
    with mock.patch.dict(stopped.cli.environ, {"COUNTERFOIL_METRICS": "token"}):
        stopped.serve("--no-worker")
    assert shown(bench.raw("GET", "/metrics")) == (401, "not_signed_in")
    assert bench.raw("GET", "/metrics", headers=bench.headers()).status_code == 200
    stopped.stop()
    with mock.patch.dict(stopped.cli.environ, {"COUNTERFOIL_METRICS": "everybody"}):
        child = stopped.start("serve", "--no-worker", "--json", "--port", "0")
        assert json.loads(child.communicate(timeout=60)[0])["error"]["code"] == "usage"


def test_it_is_mounted_in_an_application_of_the_host(stopped: House) -> None:
    """Below a path: links, the cookie's path, static files and the API."""
    with mock.patch.dict(os.environ, stopped.cli.environ), closing(_app(stopped)) as app:
        host = Starlette(routes=[Mount("/ops", app=asgi(app))])
        asyncio.run(_walk(host, stopped))


def _app(here: House) -> App:
    return App("counterfoil", db=str(here.cli.folder / "counterfoil.db"))


async def _walk(host: Starlette, here: House) -> None:
    origin = "http://127.0.0.1:8000"
    transport = httpx2.ASGITransport(app=host)
    async with httpx2.AsyncClient(transport=transport, base_url=origin, follow_redirects=False) as browser:
        assert (await browser.get("/ops/healthz")).json() == {"ok": True}
        away = await browser.get("/ops/inbox?reason=review")
        assert away.status_code == 303
        assert away.headers["location"] == "/ops/sign-in?next=%2Fops%2Finbox%3Freason%3Dreview"
        page = await browser.get(away.headers["location"])
        assert page.status_code == 200
        assert 'action="/ops/sign-in"' in page.text
        for address in _addresses(page.text):
            assert address.startswith(("/ops/", "#")), address
            if "/static/" in address:
                assert (await browser.get(address)).status_code == 200
        body = {"name": "ana", "secret": here.secret("ana"), "next": "/ops/inbox"}
        signed_in = await browser.post("/ops/sign-in", data=body, headers={"Origin": origin})
        assert (signed_in.status_code, signed_in.headers["location"]) == (303, "/ops/inbox")
        assert "path=/ops;" in signed_in.headers["set-cookie"].lower()
        assert (await browser.get("/ops/api/v1/me")).json()["data"]["name"] == "ana"
        inbox = await browser.get("/ops/inbox")
        assert inbox.status_code == 200
        assert [each for each in _addresses(inbox.text) if not each.startswith(("/ops/", "#", "?"))] == []
        described = (await browser.get("/ops/api/v1/openapi.json")).json()
        assert described["servers"] == [{"url": "/ops"}]


def _addresses(page: str) -> list[str]:
    import re

    return re.findall(r'(?<![\w-])(?:href|src|action|hx-get|hx-post)="([^"]*)"', page)


def test_a_server_killed_in_the_middle_of_an_answer_has_stored_it_once(stopped: House) -> None:
    """Killed directly before and directly after the commit; the same answer again finds one decision."""
    for when, stored in (("before:review.answered", 0), ("review.answered", 1)):
        with mock.patch.dict(stopped.cli.environ, {"COUNTERFOIL_CRASH_AT": when}):
            stopped.serve("--no-worker")
        bench = Served(stopped)
        bench.headers()
        review = bench.data("/reviews", state="open")["items"][0]
        address, body = f"/reviews/{review['review_id']}/approve", {"digest": review["digest"]}
        with pytest.raises(httpx2.TransportError):
            bench.post(address, body)
        assert stopped.stop() == -signal.SIGKILL
        assert _answers(stopped, review["review_id"]) == stored
        stopped.serve("--no-worker")
        again = bench.post(address, body).json()["data"]
        assert (again["state"], again["decided"]) == ("approved", "earlier" if stored else "now")
        assert [decision for decision, matched in _rows(stopped, review["review_id"]) if matched == "now"] == [
            "approve"
        ]
        stopped.stop()
    assert stopped.cli.json("verify").status == 0


def _answers(here: House, review_id: str) -> int:
    return len(_rows(here, review_id))


def _rows(here: House, review_id: str) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(here.cli.folder / "counterfoil.db")) as connection:
        asked = "SELECT decision, matched FROM answers WHERE review_id = ? ORDER BY at"
        return connection.execute(asked, (review_id,)).fetchall()


def test_two_servers_over_one_database_decide_once(stopped: House) -> None:
    """Two processes, one review, both at once."""
    stopped.serve("--no-worker")
    other = House(stopped.cli)
    other.serve("--no-worker")
    try:
        benches = [Served(stopped), Served(other)]
        bench = benches[0]
        stopped.cli.submit("buy", "two")
        stopped.cli.drive()
        review = bench.data("/reviews", state="open")["items"][0]
        headers = [benches[0].headers("ana"), benches[1].headers("oscar")]
        answers: list[Any] = [None, None]

        def answer(n: int) -> None:
            verb = ("approve", "reject")[n]
            address = f"/api/v1/reviews/{review['review_id']}/{verb}"
            answers[n] = benches[n].raw("POST", address, json={"digest": review["digest"]}, headers=headers[n]).json()

        threads = [threading.Thread(target=answer, args=(n,)) for n in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        decided = [each["data"]["decided"] if each["ok"] else each["error"]["code"] for each in answers]
        assert decided.count("now") == 1
        assert set(decided) <= {"now", "earlier", "review_closed"}, decided
        assert [matched for _, matched in _rows(stopped, review["review_id"])].count("now") == 1
    finally:
        other.stop()


def test_serve_does_not_start_with_half_a_provider(tmp_path: Path) -> None:
    from tests.edges.cli_bench import installed

    cli = installed(tmp_path)
    cli.environ["COUNTERFOIL_OIDC_ISSUER"] = "https://id.example.com"
    assert cli.refused("serve", "--no-worker", "--port", "0") == (3, "setting_missing")


def test_serve_says_what_is_missing(tmp_path: Path) -> None:
    """Without the extra the command names what to install."""
    from tests.edges.cli_bench import Cli

    with mock.patch.dict("sys.modules", {"uvicorn": None}):
        import sys

        for name in [name for name in sys.modules if name.startswith("counterfoil.console")]:
            sys.modules.pop(name)
        status, code = Cli(tmp_path).refused("serve")
    assert (status, code) == (6, "tool_missing")
