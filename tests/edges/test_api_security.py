"""What the console refuses before anything happens: foreign pages, too much, too often, unknown names. Refused writes nothing."""

import asyncio
import json
from base64 import urlsafe_b64encode
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx2
import pytest

from counterfoil.app import App
from counterfoil.console.asgi import asgi
from counterfoil.console.limits import ANSWER, SIGN_IN, Limits
from counterfoil.console.security import BODY_LIMIT
from counterfoil.model.errors import Refused
from tests.edges.api_bench import Served, served, shown


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Served, None, None]:
    with served(tmp_path_factory.mktemp("security"), "--no-worker", COUNTERFOIL_LOG="text") as bench:
        bench.headers()
        yield bench


@pytest.fixture
def unchanged(here: Served) -> Generator[None, None, None]:
    before = here.written()
    yield
    assert here.written() == before


@pytest.fixture(scope="module")
def cookies(here: Served) -> dict[str, str]:
    """Signed in as a browser is: its cookie."""
    body = {"name": "ana", "secret": here.house.secret("ana")}
    response = here.raw("POST", "/sign-in", data=body, headers={"Origin": here.url, "Sec-Fetch-Site": "same-origin"})
    assert response.status_code == 303, response.text
    name, _, rest = response.headers["set-cookie"].partition("=")
    kept = {part.strip().lower() for part in rest.split(";")[1:]}
    assert {"httponly", "samesite=lax", "path=/"} <= kept
    return {name: rest.partition(";")[0]}


FOREIGN = [
    {"Sec-Fetch-Site": "cross-site"},
    {"Sec-Fetch-Site": "same-site"},
    {"Sec-Fetch-Site": "none"},
    {"Origin": "http://127.0.0.1:1"},
    {"Origin": "null"},
    {"Origin": "http://elsewhere.example", "Sec-Fetch-Site": "same-origin"},
    {},
]


@pytest.mark.parametrize("headers", FOREIGN, ids=json.dumps)
@pytest.mark.parametrize("path", ["/api/v1/writes/suspend", "/api/v1/runs/1/cancel"])
def test_a_foreign_page_makes_a_signed_in_browser_do_nothing(
    here: Served, cookies: dict[str, str], headers: dict[str, str], path: str
) -> None:
    before = here.written()
    response = here.raw("POST", path, json={"reason": "x", "all": True}, headers=headers, cookies=cookies)
    assert shown(response) == (403, "foreign_request")
    assert here.written() == before


def test_our_own_page_may(here: Served, cookies: dict[str, str]) -> None:
    own = {"Origin": here.url, "Sec-Fetch-Site": "same-origin"}
    body = {"reason": "a test", "receiver": "shop"}
    assert here.raw("POST", "/api/v1/writes/suspend", json=body, headers=own, cookies=cookies).status_code == 200
    assert here.raw("POST", "/api/v1/writes/resume", json=body, headers=own, cookies=cookies).status_code == 200
    assert here.raw("GET", "/api/v1/me", cookies=cookies).json()["data"]["how"] == "session"


def test_a_receiver_is_paused_on_its_page(here: Served, cookies: dict[str, str]) -> None:
    own = {"Origin": here.url, "Sec-Fetch-Site": "same-origin"}
    paused = here.raw("POST", "/receivers/shop/pause", data={"reason": "a <test>"}, headers=own, cookies=cookies)
    assert paused.status_code == 303
    page = here.raw("GET", "/receivers/shop", cookies=cookies).text
    assert "is paused by ana since" in page and "a &lt;test&gt;" in page and "/receivers/shop/resume" in page
    assert "paused by ana, 0 waiting" in here.raw("GET", "/receivers", cookies=cookies).text
    here.raw("POST", "/receivers/shop/resume", data={"reason": "over"}, headers=own, cookies=cookies)
    assert "/receivers/shop/pause" in here.raw("GET", "/receivers/shop", cookies=cookies).text


def test_a_sign_in_from_a_foreign_page_is_refused(here: Served, unchanged: None) -> None:
    body = {"name": "ana", "secret": here.house.secret("ana")}
    response = here.raw("POST", "/sign-in", data=body, headers={"Origin": "http://elsewhere.example"})
    assert response.status_code == 403
    assert "set-cookie" not in response.headers


BAD_TOKENS = ["cft_", "cft_" + "0" * 64, "x", "cft_é"]


@pytest.mark.parametrize("token", BAD_TOKENS)
def test_no_token_no_answer(here: Served, unchanged: None, token: str) -> None:
    headers = {"Authorization": f"Bearer {token}".encode()}
    response = here.raw("GET", "/api/v1/runs", headers=headers)
    assert shown(response) == (401, "token_invalid")
    assert response.headers["www-authenticate"].startswith("Bearer")
    assert shown(here.raw("POST", "/api/v1/runs/1/cancel", json={}, headers=headers)) == (401, "token_invalid")
    assert shown(here.raw("POST", "/api/v1/runs/1/cancel", json={})) == (401, "not_signed_in")


def test_a_token_that_is_over_or_of_other_workflows(here: Served) -> None:
    narrow = {"Authorization": f"Bearer {here.token('ana', workflows=['letter'])}"}
    before = here.written()
    unknown = here.raw("GET", "/api/v1/runs/run-99999", headers=narrow)
    foreign = here.raw("GET", "/api/v1/runs/run-1", headers=narrow)
    assert shown(unknown) == shown(foreign) == (404, "not_found")
    assert _nameless(unknown, "run-99999") == _nameless(foreign, "run-1")
    assert {run["workflow"] for run in here.raw("GET", "/api/v1/runs", headers=narrow).json()["data"]["items"]} == {
        "letter"
    }
    assert shown(here.raw("POST", "/api/v1/runs/run-1/cancel", json={}, headers=narrow)) == (404, "not_found")
    assert here.written() == before


def _nameless(response: httpx2.Response, id: str) -> dict[str, Any]:
    return json.loads(response.text.replace(id, "ID"))


PAGES = ["/api/v1/runs", "/api/v1/openapi.json", "/sign-in", "/healthz", "/nothing-here"]


@pytest.mark.parametrize("path", PAGES)
def test_what_browsers_are_told(here: Served, path: str) -> None:
    headers = here.raw("GET", path, headers=here.headers()).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["frame-ancestors"] == policy["base-uri"] == "'none'"
    assert policy["script-src"] == policy["style-src"] == policy["form-action"] == "'self'"
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def test_too_much_is_refused_before_it_is_read(here: Served, unchanged: None) -> None:
    big = b'{"workflow": "buy", "request_id": "big", "input": "' + b"x" * BODY_LIMIT + b'"}'
    assert shown(here.raw("POST", "/api/v1/runs", content=big, headers=here.headers())) == (413, "too_large")

    def chunks() -> Generator[bytes, None, None]:  # a body that does not say its length
        for start in range(0, len(big), 1 << 16):
            yield big[start : start + (1 << 16)]

    assert shown(here.raw("POST", "/api/v1/runs", content=chunks(), headers=here.headers())) == (413, "too_large")


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"{", (400, "malformed_json")),
        (b"\xff\xfe", (400, "malformed_json")),
        (b"[" * 100_000, (400, "malformed_json")),
        (b"{}", (422, "invalid_payload")),
        (b'{"workflow": "buy", "input": {}, "request_id": "1", "more": 1}', (422, "invalid_payload")),
        (b'{"workflow": "buy", "input": {"number": 1}, "request_id": "x-1"}', (422, "invalid_payload")),
        (b'{"workflow": "none", "input": {}, "request_id": "x-1"}', (404, "unknown_workflow")),
        (b'{"workflow": "buy", "input": {"number": "\\ud800"}, "request_id": "x-1"}', (422, "invalid_payload")),
    ],
)
def test_what_does_not_fit_is_refused_and_not_repeated(
    here: Served, unchanged: None, content: bytes, expected: tuple[int, str]
) -> None:
    headers = here.headers() | {"Content-Type": "application/json"}
    assert shown(here.raw("POST", "/api/v1/runs", content=content, headers=headers)) == expected


@pytest.mark.parametrize(
    "cursor", ["x", "!", "W10", "WyJydW5zIiwtMV0", "WyJyZXZpZXdzIiw1XQ", "WyJydW5zIix0cnVlXQ", "e30"]
)
def test_a_cursor_of_nobody(here: Served, cursor: str) -> None:
    assert shown(here.get("/runs", cursor=cursor)) == (400, "usage")


def test_methods_and_addresses_that_are_not_there(here: Served, unchanged: None) -> None:
    response = here.raw("DELETE", "/api/v1/runs/1", headers=here.headers())
    assert shown(response) == (405, "method_unknown")
    assert "GET" in response.headers["allow"]
    assert shown(here.get("/nothing")) == (404, "not_found")


class Ticking:
    now = 0

    def __call__(self) -> int:
        return self.now


def test_limits_count_by_person_and_by_address_and_forget() -> None:
    clock = Ticking()
    limits = Limits(clock)
    for _ in range(SIGN_IN.tries):
        limits.sign_in("ana", "10.0.0.1")
    with pytest.raises(Refused) as told:
        limits.sign_in("ana", "10.0.0.2")  # another address does not help
    assert told.value.code == "too_many"
    assert told.value.details == {"what": "person", "seconds": 60}
    for n in range(SIGN_IN.tries * 2):
        limits.sign_in(f"somebody {n}", "10.0.0.1")
    with pytest.raises(Refused):  # nor do other names from one address
        limits.sign_in("nobody", "10.0.0.1")
    clock.now += 60_000_000
    limits.sign_in("ana", "10.0.0.1")
    for _ in range(ANSWER.tries):
        limits.answer("ana", "10.0.0.1")
    with pytest.raises(Refused):
        limits.answer("ana", "10.0.0.1")


def test_an_address_that_is_refused_makes_nobody_be_forgotten() -> None:
    """Else inventing ten thousand names would buy ten more tries at one of them."""
    limits = Limits(Ticking())
    for n in range(SIGN_IN.tries):
        limits.sign_in("ana", f"10.0.1.{n}")
    for n in range(15_000):
        with suppress(Refused):
            limits.sign_in(f"somebody {n}", "10.0.0.1")
    with pytest.raises(Refused):
        limits.sign_in("ana", "10.0.2.1")


def test_signing_in_at_a_provider_is_counted_by_address_alone() -> None:
    """Nobody is named yet: one address must not keep everybody else from it."""
    limits = Limits(Ticking())
    with suppress(Refused):
        while True:
            limits.sign_in_from("10.0.0.1")
    limits.sign_in_from("10.0.0.2")


def test_limits_remember_only_so_many() -> None:
    limits = Limits(Ticking())
    for n in range(15_000):
        limits.sign_in(f"somebody {n}", f"address {n}")
    assert len(limits._tried) == 10_000


def test_answers_too_often_are_429_and_store_nothing(here: Served) -> None:
    oscar = here.headers("oscar")
    (review, *_) = here.data("/reviews", state="open")["items"]
    body = {"digest": f"sha256:{'0' * 64}"}  # of nothing: each is an answer, kept as one that fits no version
    statuses: list[int] = []
    for _ in range(ANSWER.tries + 1):
        response = here.raw("POST", f"/api/v1/reviews/{review['review_id']}/approve", json=body, headers=oscar)
        statuses.append(response.status_code)
        if response.status_code == 429:
            break
    assert statuses[-1] == 429
    assert 1 <= int(response.headers["retry-after"]) <= 60
    before = here.written()
    response = here.raw("POST", f"/api/v1/reviews/{review['review_id']}/approve", json=body, headers=oscar)
    assert shown(response) == (429, "too_many")
    assert here.written() == before


NO_JSON = [
    b"[" * 9000,
    b'["\\ud800", "good"]',
    b'[["\\ud800", "\\ud800"]]',
    b"[1]",
    b'{"a": 1}',
    b'["a", [1]]',
    b"\xff",
]


@pytest.mark.parametrize("name", ["counterfoil-said", "counterfoil-views", "counterfoil-provider"])
@pytest.mark.parametrize("content", NO_JSON, ids=lambda content: str(content[:12]))
def test_no_page_fails_on_a_cookie_that_somebody_planted(
    here: Served, cookies: dict[str, str], name: str, content: bytes
) -> None:
    planted = cookies | {name: urlsafe_b64encode(content).decode()}
    assert here.raw("GET", "/inbox", cookies=planted).status_code == 200
    assert here.raw("GET", "/sign-in/answer?state=a&code=b", cookies=planted).status_code in (401, 404)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_what_is_no_number_of_json_is_refused(here: Served, unchanged: None, number: str) -> None:
    headers = here.headers() | {"Content-Type": "application/json"}
    signal = f'{{"name": "go", "signal_id": "s", "payload": [{number}]}}'
    submission = f'{{"workflow": "buy", "request_id": "n", "input": {{"number": "1", "item": {number}}}}}'
    for path, body in (("/runs/1/signals", signal), ("/runs", submission)):
        status, code = shown(here.raw("POST", f"/api/v1{path}", content=body, headers=headers))
        assert status < 500 and code in ("unserializable", "invalid_payload", "malformed_json")


NARROW = [
    "/inbox",
    "/runs",
    "/operations",
    "/reviews",
    "/money",
    "/charts",
    "/access",
    "/stop",
    "/find?q=1",
    "/api/v1/metrics",
]


@pytest.mark.parametrize("path", NARROW)
def test_a_token_of_one_workflow_is_not_told_which_others_there_are(here: Served, path: str) -> None:
    token = here.token("ana", workflows=["waits"])
    told = here.raw("GET", path, headers={"Authorization": f"Bearer {token}"}).text
    whole = here.raw("GET", path, headers=here.headers()).text
    names = ("letter", "parcel", "shop", "place_order")
    assert [name for name in names if name in told] == []
    assert any(name in whole for name in names)


def test_who_is_not_signed_in_is_not_told_which_receivers_there_are(here: Served) -> None:
    page = here.raw("GET", "/sign-in").text
    assert "Test receivers only" in page or "test receivers" in page
    assert "shop" not in page


def test_metrics_of_all_workflows_are_not_for_a_token_of_one(here: Served) -> None:
    elsewhere = {"Host": "console.example"}
    narrow = {"Authorization": f"Bearer {here.token('ana', workflows=['waits'])}"}
    assert shown(here.raw("GET", "/metrics", headers=elsewhere | narrow)) == (403, "not_permitted")
    assert here.raw("GET", "/metrics", headers=elsewhere | here.headers()).status_code == 200


def test_only_files_may_be_cached(here: Served, cookies: dict[str, str]) -> None:
    """A page under an address that looks like a file's is kept by no cache on the way."""
    page = here.raw("GET", "/static/nothing.css", cookies=cookies)
    assert page.status_code == 404 and "ana" in page.text
    assert page.headers["cache-control"] == "no-store"
    assert "/static/static/" not in page.text, "the frame of the refusal finds its own files"
    assert "cache-control" not in here.raw("GET", "/static/base.css").headers


@pytest.mark.parametrize(
    "path",
    ["%2e%2e/asgi.py", "..%2fasgi.py", "/etc/passwd", "%2Fetc%2Fpasswd", "%00", "", "a" * 5000],
)
def test_no_file_but_the_static_ones_is_given(here: Served, path: str) -> None:
    assert here.raw("GET", f"/static/{path}").status_code in (400, 404)
    assert here.raw("HEAD", "/static/base.css").status_code == 200


def test_signing_in_again_ends_the_session_before(here: Served) -> None:
    """Its cookie is replaced, so that nobody could sign out of it any more."""
    own = {"Origin": here.url, "Sec-Fetch-Site": "same-origin"}
    body = {"name": "oscar", "secret": here.house.secret("oscar")}

    def signed_in(**before: str) -> str:
        response = here.raw("POST", "/sign-in", data=body, headers=own, cookies=before)
        assert response.status_code == 303
        return response.headers["set-cookie"].partition("=")[2].partition(";")[0]

    first = signed_in()
    assert here.raw("GET", "/api/v1/me", cookies={"counterfoil": first}).status_code == 200
    second = signed_in(counterfoil=first)
    assert shown(here.raw("GET", "/api/v1/me", cookies={"counterfoil": first})) == (401, "session_over")
    assert here.raw("GET", "/api/v1/me", cookies={"counterfoil": second}).status_code == 200


def test_what_is_logged_names_no_secret_and_no_payload(here: Served) -> None:
    here.get("/find", text="a-business-key")
    log = (here.house.cli.folder / "serve.log").read_text()
    assert "GET /api/v1/find 200" in log
    for secret in (here.house.secret("ana"), here.headers()["Authorization"].split()[1], "a-business-key", "tea", "?"):
        assert secret not in log


def test_a_defect_of_ours_is_told_by_its_type_alone(tmp_path: Path) -> None:
    """With the headers of every answer, also where a page was asked for."""
    console = asgi(App("broken", db=str(tmp_path / "none.db")))

    @console.get("/api/v1/breaks")
    @console.get("/breaks")
    def breaks() -> None:
        raise RuntimeError("a secret of the payload")

    async def ask() -> None:
        transport = httpx2.ASGITransport(app=console)
        async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
            for path in ("/api/v1/breaks", "/breaks"):
                response = await browser.get(path)
                assert response.status_code == 500
                assert "RuntimeError" in response.text
                assert "a secret" not in response.text
                assert response.headers["x-frame-options"] == "DENY"

    asyncio.run(ask())
