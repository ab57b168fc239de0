"""A signed link over HTTP: signed in first and back to it, then the answer, once; and what each link that is no good says."""

import asyncio
import json
import re
import sqlite3
from collections.abc import Generator
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import httpx2
import pytest
from starlette.applications import Starlette
from starlette.routing import Mount

from counterfoil.app import App
from counterfoil.app.signing import signer_in
from counterfoil.console.asgi import asgi
from counterfoil.model.access import ApprovalKeyRecord
from counterfoil.rules.links import Link, link_in, text_of, token_of
from tests.edges.api_bench import LIMIT, Served, served

PLACE = re.compile(
    r'<form method="post" action="([^"]+)" class="form">\s*<input type="hidden" name="digest" value="([^"]+)">'
)
LINK = re.compile(r'<input type="hidden" name="link" value="([^"]+)">')


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with served(tmp_path_factory.mktemp("link"), "--no-worker", COUNTERFOIL_LOG="text") as bench:
        yield bench


class Browser:
    """One browser with its cookies; it sends what browsers send with their own pages' forms."""

    def __init__(self, here: Served, person: str = "") -> None:
        self.here, self.cookies = here, dict[str, str]()
        if person:
            self.sign_in(person)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.here.raw("GET", path, cookies=self.cookies, headers=headers)

    def post(self, path: str, body: dict[str, str]) -> httpx2.Response:
        own = {"Origin": self.here.url, "Sec-Fetch-Site": "same-origin"}
        return self.here.raw("POST", path, data=body, headers=own, cookies=self.cookies)

    def sign_in(self, person: str, then: str = "") -> str:
        """Gives where it leads."""
        body = {"name": person, "secret": self.here.house.secret(person), "next": then}
        response = self.post("/sign-in", body)
        assert response.status_code == 303, response.text
        name, _, rest = response.headers["set-cookie"].partition("=")
        self.cookies[name] = rest.partition(";")[0]
        return response.headers["location"]


def made(here: Served, review: str, for_: str = "ana") -> dict[str, Any]:
    return here.house.cli.json("reviews", "link", review, "--for", for_).data


def waiting(here: Served) -> str:
    """A review that is open."""
    return here.data("/reviews", state="open")["items"][0]["review_id"]


def code(response: httpx2.Response) -> tuple[int, str]:
    found = re.search(r"Code <code>([a-z_]+)</code>", response.text)
    return response.status_code, found[1] if found else response.text


def form_of(response: httpx2.Response) -> tuple[str, dict[str, str]]:
    """Where the form goes, and what it holds already."""
    assert response.status_code == 200, response.text
    place, link = PLACE.search(response.text), LINK.search(response.text)
    assert place and link, response.text
    return place[1], {"digest": place[2], "link": link[1]}


def resigned(here: Served, path: str, **parts: Any) -> str:
    """The same link with other parts, really signed by the installation's key."""
    signer = signer_in(here.house.cli.folder / ".counterfoil" / "approval.key")
    with here.environment():
        app = App("look", db=str(here.database))
        opened = app.open()
        with opened.read() as reader:
            rows = list(reader.rows(ApprovalKeyRecord))
            link: Link = link_in(path.removeprefix("/answer/"), opened.installation_id, rows)
        app.close()
    link = replace(link, **parts)
    return "/answer/" + token_of(link, signer.sign(text_of(link)))


def test_the_whole_walk(here: Served) -> None:
    """Not signed in, signed in and back, the page, the answer through it, a second one, and from then on the link is used."""
    link = made(here, waiting(here))
    browser, path = Browser(here), link["path"]
    led = browser.get(path)
    assert (led.status_code, led.headers["location"]) == (303, f"/sign-in?next={quote(path, safe='')}")
    assert f'name="next" value="{path}"' in browser.get(led.headers["location"]).text
    assert browser.sign_in("ana", path) == path
    for _ in range(2):  # opening uses nothing
        where, body = form_of(browser.get(path))
    assert (body["digest"], body["link"]) == (link["digest"], path.removeprefix("/answer/"))
    body |= {"decision": "approve", "comment": "by mail"}
    before = here.written()
    mistaken = browser.post(where, body | {"digest": "sha256:" + "0" * 64})
    assert code(mistaken) == (409, "link_stale")
    assert here.written() == before
    assert browser.post(where, body).status_code == 303
    before = here.written()
    assert code(browser.post(where, body)) == (409, "link_used")
    used = browser.get(path)
    assert code(used) == (409, "link_used")
    assert where in used.text and "Read the review" in used.text
    assert here.written() == before
    follows = browser.get(path, **{"HX-Request": "true"})
    assert follows.status_code == 200 and "Draft 1 of place_order" in follows.text, "an opened page follows the record"
    shown = here.data(f"/reviews/{link['review_id']}")
    assert [(a["person"], a["comment"]) for a in shown["answers"]["given"]] == [("ana", "by mail")]
    assert shown["state"] == "approved"
    with closing(sqlite3.connect(here.database)) as connection:
        rows = connection.execute("SELECT body FROM entries WHERE run_id = ? AND kind = 'answer'", (shown["run_id"],))
        assert [json.loads(body)["data"]["link"] for (body,) in rows] == [link["link_id"]]
    assert here.house.cli.json("verify").status == 0


def test_signed_in_as_somebody_else(here: Served) -> None:
    link = made(here, waiting(here))
    oscar = Browser(here, "oscar")
    refused = oscar.get(link["path"])
    assert code(refused) == (403, "link_not_yours")
    assert "This link is for ana; you are signed in as oscar." in refused.text
    where, body = form_of(Browser(here, "ana").get(link["path"]))
    before = here.written()
    assert code(oscar.post(where, body | {"decision": "approve"})) == (403, "link_not_yours")
    assert here.written() == before
    form_of(oscar.get(made(here, link["review_id"], "buyer")["path"]))


def test_each_link_that_is_no_good_says_why(here: Served) -> None:
    path, ana = made(here, waiting(here))["path"], Browser(here, "ana")
    (closed,) = (r["review_id"] for r in here.data("/reviews", state="approved")["items"] if r["number"] == 1)
    digest = here.data(f"/reviews/{closed}")["digest"]
    good = {
        resigned(here, path, digest="sha256:" + "0" * 64): (409, "link_stale"),
        resigned(here, path, ends_at=1): (409, "link_expired"),
        resigned(here, path, review_id=closed, digest=digest): (409, "link_closed"),
        resigned(here, path, review_id="rev_none"): (404, "not_found"),
        resigned(here, path, key_id="key_none"): (409, "link_invalid"),
        path[:-1] + ("A" if path[-1] != "A" else "B"): (409, "link_invalid"),
        "/answer/x": (409, "link_invalid"),
        "/answer/" + "A" * 4000: (409, "link_invalid"),
    }
    before = here.written()
    for each, expected in good.items():
        response = ana.get(each)
        assert code(response) == expected, each
        assert "What is safe to do now" in response.text
    assert here.written() == before


def test_a_sign_in_leads_nowhere_else(here: Served) -> None:
    for then in ("https://elsewhere.example/answer/x", "//elsewhere.example/answer/x", "/\\elsewhere.example"):
        assert Browser(here).sign_in("oscar", then) == "/"


def test_the_log_has_the_path_without_the_token(here: Served) -> None:
    path, ana = made(here, waiting(here))["path"], Browser(here, "ana")
    for each in (path, f"/sign-in?next={quote(path, safe='')}", f"/nothing{path}"):
        ana.get(each)
    log = (here.house.cli.folder / "serve.log").read_text()
    assert "GET /answer/ 200" in log and "GET /nothing/answer/ 404" in log
    assert path.removeprefix("/answer/")[:40] not in log


def test_below_a_path_of_a_host(here: Served) -> None:
    path = made(here, waiting(here))["path"]

    async def walk(app: App) -> None:
        host = Starlette(routes=[Mount("/ops/desk", asgi(app))])
        transport, base = httpx2.ASGITransport(app=host), "http://127.0.0.1"
        async with httpx2.AsyncClient(transport=transport, base_url=base, timeout=LIMIT) as browser:
            below = f"/ops/desk{path}"
            led = await browser.get(below)
            assert led.headers["location"] == f"/ops/desk/sign-in?next={quote(below, safe='')}"
            body = {"name": "ana", "secret": here.house.secret("ana"), "next": below}
            back = await browser.post("/ops/desk/sign-in", data=body, headers={"Origin": base})
            assert (back.status_code, back.headers["location"]) == (303, below)
            where, _ = form_of(await browser.get(below))
            assert where.startswith("/ops/desk/reviews/rev-")

    with here.environment():
        app = App("example", db=str(here.database))
        asyncio.run(walk(app))
        app.close()


def test_the_command_says_the_link_where_the_console_is_known(here: Served) -> None:
    review, cli = waiting(here), here.house.cli
    cli.environ["COUNTERFOIL_CONSOLE_URL"] = "https://console.example/desk/"
    try:
        data = cli.json("reviews", "link", review, "--for", "ana", "--hours", "1").data
    finally:
        del cli.environ["COUNTERFOIL_CONSOLE_URL"]
    assert data["link"] == "https://console.example/desk" + data["path"]
    assert cli.refused("reviews", "link", review, "--for", "nobody") == (3, "unknown_owner")
    assert cli.refused("reviews", "link", "rev-1", "--for", "ana") == (3, "link_closed")
    assert cli.refused("reviews", "link", "rev-99", "--for", "ana")[1] == "not_found"
