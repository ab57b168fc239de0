"""An incident, by a real browser and a real receiver: somebody writes under our number there, we ask, and a person weighs it."""

import httpx2
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import violations
from tests.browser.house import House


def contradicted(here: House) -> str:
    """A second record at the receiver under the id of ours, and our question that finds it. The operation's number."""
    (operation,) = (o for o in here.cli.json("operations", "list").data["items"] if o["operation"] == "send_parcel")
    httpx2.post(
        f"{here.sandboxes['PARCELS_URL'].url}/parcels", json={"number": "200", "item": "tea"},
        headers={"Counterfoil-Operation": operation["operation_id"]},
    ).raise_for_status()  # fmt: skip
    assert here.cli.json("operations", "lookup", operation["operation_id"], "--by", "oscar").status == 0
    return f"op-{operation['number']}"


def test_a_contradiction_is_seen_in_the_inbox_and_closed_with_a_reason(
    page: Page, chromium: Browser, here: House, session: str
) -> None:
    operation = contradicted(here)
    page.goto("/inbox?reason=incident")
    page.locator(".row-link").first.click()
    expect(page).to_have_url(f"{here.url}/incidents/inc-1")
    expect(page.locator("main")).to_contain_text(operation)
    expect(page.locator("main")).to_contain_text("parcel-")
    context = chromium.new_context(base_url=here.url, storage_state=session, bypass_csp=True)
    examined = context.new_page()
    examined.goto("/incidents/inc-1")
    assert violations(examined) == []
    context.close()
    page.get_by_label("What you found").fill("the second parcel was called back")
    page.get_by_role("button", name="Close the incident").click()
    expect(page.get_by_role("status")).to_contain_text("inc-1 is closed")
    expect(page.locator("main")).to_contain_text("the second parcel was called back")
    (incident,) = here.cli.json("incidents", "list").data["items"]
    assert (incident["closed_by"], incident["reason"]) == ("ana", "the second parcel was called back")
    page.goto("/inbox?reason=incident")
    expect(page.locator(".row-link")).to_have_count(0)


def test_an_incident_that_is_not_there(page: Page) -> None:
    answer = page.goto("/incidents/inc-99")
    assert answer is not None
    assert answer.status == 404
