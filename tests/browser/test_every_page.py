"""What holds for every page: no violation that axe-core finds, no sideways scrolling on a phone, no refusal by the policy."""

from collections.abc import Generator
from io import BytesIO
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from tests.browser.addresses import EVERY, REFUSED
from tests.browser.conftest import violations
from tests.browser.house import House


@pytest.fixture(params=["light", "dark"])
def examined(
    request: pytest.FixtureRequest, chromium: Browser, here: House, session: Any
) -> Generator[Page, None, None]:
    """A page into which axe can be put: its content policy is bypassed."""
    context = chromium.new_context(
        base_url=here.url, storage_state=session, color_scheme=request.param, bypass_csp=True
    )
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("address", EVERY)
def test_axe_finds_no_violation(examined: Page, address: str) -> None:
    examined.goto(address)
    assert violations(examined) == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation_at_the_door(chromium: Browser, here: House, scheme: Any) -> None:
    context = chromium.new_context(base_url=here.url, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto("/sign-in")
    assert violations(page) == []
    context.close()


def test_axe_would_find_one(examined: Page) -> None:
    examined.goto("/runs")
    examined.evaluate("document.querySelector('main').append(document.createElement('img'))")
    assert any("image-alt" in found for found in violations(examined))


def test_no_page_scrolls_sideways_on_a_phone(chromium: Browser, here: House, session: Any) -> None:
    context = chromium.new_context(base_url=here.url, storage_state=session, viewport={"width": 360, "height": 740})
    page = context.new_page()
    wide = {address: width for address in EVERY if (width := _width(page, address)) > 360}
    context.close()
    assert wide == {}


def _width(page: Page, address: str) -> int:
    page.goto(address)
    return int(page.evaluate("document.scrollingElement.scrollWidth"))


@pytest.mark.parametrize("address", EVERY)
def test_nothing_of_a_page_is_refused_by_its_policy(page: Page, address: str) -> None:
    answer = page.goto(address)
    assert answer is not None
    assert answer.status == (404 if address in REFUSED else 200)
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert "script-src 'self'" in policy
    expect(page.get_by_text("TEST", exact=True).first).to_be_visible()
    assert page.locator("[style], style, script:not([src])").count() == 0


def test_the_printed_audit_is_evidence(page: Page) -> None:
    page.goto("/audit")
    digests = page.locator(".digest .whole").all_text_contents()
    assert digests
    printed = "".join("".join(sheet.extract_text().split()) for sheet in PdfReader(BytesIO(page.pdf())).pages)
    for digest in digests:
        assert digest in printed
    assert "ana" in printed
    for when in page.locator("main time").evaluate_all("all => all.map((time) => time.dateTime)"):
        assert when[:10] in printed and when[11:19] in printed


def test_nothing_comes_from_elsewhere(page: Page, here: House) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for address in EVERY:
        page.goto(address)
    assert asked
    assert [url for url in asked if not url.startswith(here.url)] == []
