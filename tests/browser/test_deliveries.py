"""An orphan, by a real browser: the receiver sends it over a real socket, a person finds out what it is and closes it."""

import json

import httpx2
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import violations
from tests.browser.house import House
from tests.engine.messages import github


def test_an_orphan_is_found_read_and_closed(page: Page, chromium: Browser, here: House, session: str) -> None:
    body = json.dumps({"type": "sent", "id": "m-1", "letter": "from the office"}).encode()
    answer = httpx2.post(f"{here.url}/webhooks/post", content=body, headers=github(body, secret="hook"))
    assert answer.json() == {"ok": True, "new": True}
    # The server matches it once it has answered; whoever asks for it meanwhile gets the same.
    assert here.cli.json("receipts", "match", "dlv-1").data["state"] == "orphan"
    page.goto("/receivers")
    page.get_by_role("link", name="1 orphan").click()
    expect(page).to_have_url(f"{here.url}/deliveries?orphans=yes")
    page.get_by_role("link", name="dlv-1").click()
    expect(page.locator("main")).to_contain_text("from the office")
    context = chromium.new_context(base_url=here.url, storage_state=session, bypass_csp=True)
    examined = context.new_page()
    for address in ("/deliveries", "/deliveries/dlv-1"):
        examined.goto(address)
        assert violations(examined) == []
    context.close()
    page.get_by_label("What it is").fill("a letter that the office wrote by hand")
    page.get_by_role("button", name="Close the orphan").click()
    expect(page.get_by_role("status")).to_contain_text("dlv-1 is closed")
    expect(page.locator("main")).to_contain_text("a letter that the office wrote by hand")
    (shown,) = here.cli.json("receipts", "list").data["items"]
    assert (shown["closed_by"], shown["state"]) == ("ana", "orphan")
