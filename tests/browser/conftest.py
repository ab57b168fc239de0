"""One Chromium per test process, one served installation per module, and a page that is signed in."""

import asyncio
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.house import House, house
from tests.edges import cli_bench

CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
)  # fmt: skip
PATIENCE_MS = 15_000


@pytest.fixture(scope="session")
def chromium() -> Generator[Browser, None, None]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=list(ARGUMENTS))
        with mock.patch.object(cli_bench, "main", _beside_playwright):
            yield browser
        browser.close()


def _beside_playwright(argv: Sequence[str], main: Any = cli_bench.main) -> int:
    """A command in this process while Playwright's loop rests in it: the command runs a loop of its own."""
    resting = asyncio._get_running_loop()
    asyncio._set_running_loop(None)
    try:
        return int(main(argv))
    finally:
        asyncio._set_running_loop(resting)


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    """Served as a user serves it, worker included."""
    with house(tmp_path_factory.mktemp("house")) as lived:
        lived.serve()
        yield lived


@pytest.fixture(scope="module")
def session(chromium: Browser, here: House) -> Any:
    """What Ana's browser keeps once she has signed in."""
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    sign_in(page, here, "ana")
    kept = context.storage_state()
    context.close()
    return kept


@pytest.fixture
def context(chromium: Browser, here: House, session: Any) -> Generator[BrowserContext, None, None]:
    """Ana's browser, which notes whatever a page complains about."""
    made = chromium.new_context(base_url=here.url, storage_state=session)
    made.set_default_timeout(PATIENCE_MS)
    yield made
    made.close()


@pytest.fixture
def page(context: BrowserContext) -> Generator[Page, None, None]:
    """A page whose policy is in force: what the policy refuses, or a script gets wrong, fails the test."""
    made = context.new_page()
    complaints = heard(made)
    yield made
    assert complaints == []


def sign_in(page: Page, here: House, person: str) -> None:
    """As a person does it."""
    page.goto(f"{here.url}/sign-in")
    page.get_by_label("Name").fill(person)
    page.get_by_label("Secret").fill(here.secret(person))
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/inbox")


def heard(page: Page) -> list[str]:
    """Errors of scripts and refusals of the content policy, as they come."""
    complaints: list[str] = []

    def said(message: Any) -> None:
        # A refused status is a test's own question; a refused script or style never is.
        if message.type == "error" and "Failed to load resource" not in message.text:
            complaints.append(message.text)

    page.on("console", said)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    return complaints


AXE = Path(__file__).parent.parent / "servers" / "npm" / "node_modules" / "axe-core" / "axe.min.js"


def violations(page: Page) -> list[str]:
    """What axe-core finds, one line each. The page's context bypasses the policy, so that axe can be put into it."""
    page.add_script_tag(path=AXE)
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")["violations"]
    return [
        f"{page.url} {each['id']}: {each['help']} {[node['html'][:200] for node in each['nodes'][:3]]}"
        for each in found
    ]
