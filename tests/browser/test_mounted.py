"""The console below a path of somebody else's application: every link, form and stream finds its way."""

import re
import sys
from collections.abc import Generator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import heard
from tests.browser.house import House, house, served_by

PROGRAM = """
import sys
import uvicorn
from starlette.applications import Starlette
from starlette.routing import Mount
from counterfoil.console.asgi import asgi
from app import app

class Server(uvicorn.Server):
    async def startup(self, sockets=None):
        await super().startup(sockets)
        print(self.servers[0].sockets[0].getsockname()[1], flush=True)

console = asgi(app)

@console.get("/boom")
def boom():
    raise RuntimeError("a secret of the defect")

host = Starlette(routes=[Mount("/ops/desk", console)])
Server(uvicorn.Config(host, host="127.0.0.1", port=0, log_level="error", timeout_graceful_shutdown=1)).run()
"""
PLACES = (
    "Runs",
    "Operations",
    "Reviews",
    "Incidents",
    "Receivers",
    "Workers",
    "Money",
    "Metrics",
    "Audit",
    "Access",
    "Stop",
)


@pytest.fixture(scope="module")
def below(tmp_path_factory: pytest.TempPathFactory) -> Generator[tuple[House, str], None, None]:
    with house(tmp_path_factory.mktemp("mounted")) as lived:
        (lived.cli.folder / "host.py").write_text(PROGRAM)
        with served_by(lived, [sys.executable, "host.py"]) as process:
            assert process.stdout is not None
            port = process.stdout.readline().strip()
            yield lived, f"http://127.0.0.1:{port}/ops/desk"


@pytest.fixture
def visitor(chromium: Browser) -> Generator[Page, None, None]:
    context = chromium.new_context()
    page = context.new_page()
    complaints = heard(page)
    yield page
    context.close()
    assert complaints == []


def test_it_works_below_a_path(visitor: Page, below: tuple[House, str]) -> None:
    here, root = below
    outside: list[str] = []
    visitor.on("request", lambda request: outside.append(request.url) if not request.url.startswith(root) else None)
    visitor.goto(f"{root}/")
    visitor.get_by_label("Name").fill("ana")
    visitor.get_by_label("Secret").fill(here.secret("ana"))
    visitor.get_by_role("button", name="Sign in").click()
    expect(visitor).to_have_url(f"{root}/inbox")
    for place in PLACES:
        visitor.locator("#menu").get_by_role("link", name=place).click()
        expect(visitor.locator("#menu [aria-current]")).to_contain_text(place)
        assert visitor.url.startswith(root)
    visitor.goto(f"{root}/inbox?reason=review")
    expect(visitor.locator("body")).to_have_attribute("data-connection", "open")
    visitor.get_by_role("button", name="Take").first.click()
    expect(visitor.get_by_role("status")).to_contain_text("Yours: rev-")
    expect(visitor).to_have_url(re.compile(r"/ops/desk/inbox\?reason=review$"))
    visitor.locator(".row-link").first.click()
    expect(visitor).to_have_url(re.compile("/ops/desk/reviews/"))
    visitor.get_by_role("button", name="ana").click()
    visitor.get_by_role("button", name="Sign out").click()
    expect(visitor).to_have_url(f"{root}/sign-in")
    assert outside == []


def test_a_defect_says_that_nothing_is_lost(visitor: Page, below: tuple[House, str]) -> None:
    answer = visitor.goto(f"{below[1]}/boom")
    assert answer is not None
    assert answer.status == 500
    expect(visitor.get_by_role("heading", level=1)).to_have_text("A defect of ours")
    expect(visitor.locator("main")).to_contain_text("Nothing is lost")
    assert "a secret of the defect" not in visitor.content()
