"""Money in a real browser: what a day came to, and a statement that is looked at before it is imported."""

import re
from collections.abc import Generator
from datetime import UTC, datetime

import pytest
from playwright.sync_api import Page, expect

from tests.browser.house import House, house, parked


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    """Two refunds whose outcome nobody knows."""
    with house(tmp_path_factory.mktemp("money"), empty=True) as lived:
        for number in ("250", "500"):
            parked(lived.cli, "payback", number)
        lived.serve()
        yield lived


def test_the_report_of_a_day(page: Page) -> None:
    page.goto("/money")
    row = page.locator("tbody tr").filter(has_text="pay_back")
    expect(row).to_contain_text("EUR")
    expect(row.locator(".doubts")).to_contain_text("37.50 EUR")
    expect(page.locator(".lead")).to_contain_text("37.50 EUR unknown")
    page.get_by_label("Day").fill("2020-02-29")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("day=2020-02-29"))
    expect(page.locator(".empty")).to_contain_text("Nothing on this day")


def test_an_item_of_the_inbox_shows_amount_and_target(page: Page) -> None:
    page.goto("/inbox?text=charge+250")
    expect(page.locator(".item")).to_have_count(1)
    expect(page.locator(".item")).to_contain_text("12.50 EUR")


def test_a_statement_is_looked_at_and_then_imported(page: Page, here: House) -> None:
    line = f"re_1,12.50,EUR,{datetime.now(UTC).isoformat()}"
    statement = f"reference,amount,currency,at\n{line}\nre_9,99.00,EUR,{datetime.now(UTC).isoformat()}\n"
    page.goto("/money")
    page.get_by_label("Receiver").select_option("post")
    page.get_by_label("Statement").set_input_files(
        {"name": "bank.csv", "mimeType": "text/csv", "buffer": statement.encode()}
    )
    page.get_by_role("button", name="Look at it first").click()
    expect(page.locator(".lead")).to_contain_text("Nothing is imported yet")
    expect(page.locator(".lead")).to_contain_text("1 would be resolved")
    expect(page.locator("main")).to_contain_text("Theirs, not ours")
    assert unknown(here) == 2, "looking changes nothing"
    page.get_by_role("button", name="Import and resolve 1").click()
    expect(page.locator(".lead")).to_contain_text("Imported. 1 resolved")
    assert unknown(here) == 1
    page.goto("/money")
    expect(page.locator("main")).to_contain_text("bank.csv")


def unknown(here: House) -> int:
    listed = here.cli.json("operations", "list", "--status", "unknown").data["items"]
    return sum(operation["operation"] == "pay_back" for operation in listed)
