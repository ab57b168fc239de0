"""The inbox in a real browser: found, taken, handed over, spoken about, put off, kept as a view, and acted on together."""

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.house import House


def item(page: Page, text: str) -> Locator:
    return page.locator(".item").filter(has_text=text)


def test_an_unknown_outcome_is_found_from_the_inbox(page: Page) -> None:
    page.goto("/")
    expect(page).to_have_url(re.compile("/inbox$"))
    expect(page.locator(".lead")).to_contain_text("need a person")
    group = page.get_by_role("region", name="Outcome unknown")
    expect(group.locator(".item")).to_have_count(2)
    it = item(page, "300")
    expect(it).to_contain_text("desk")
    expect(it).to_contain_text("Look at the receiver, then resolve")
    expect(it.locator("time[data-until]")).to_have_text(re.compile(r"^in 23 h"))
    it.locator(".row-link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("send_letter")
    expect(page.locator("main")).to_contain_text("unknown")


def test_take_hand_over_comment_and_put_off(page: Page) -> None:
    page.goto("/inbox?reason=step_failed")
    it = item(page, "broken")
    it.get_by_role("button", name="Take").click()
    expect(page.get_by_role("status")).to_contain_text("Yours: run-")
    expect(item(page, "broken")).to_contain_text("taken by ana")
    assert page.locator("time[data-until]").count() > 0

    item(page, "broken").get_by_text("Hand over, comment, put off").click()
    item(page, "broken").get_by_label("Comment").fill("<b>They</b> know of it")
    item(page, "broken").get_by_role("button", name="Comment").click()
    expect(item(page, "broken")).to_contain_text("1 comment")

    item(page, "broken").get_by_text("Hand over, comment, put off").click()
    item(page, "broken").get_by_label("Hand over to").select_option("oscar")
    item(page, "broken").get_by_role("button", name="Hand over").click()
    expect(item(page, "broken")).to_contain_text("taken by oscar")

    item(page, "broken").get_by_text("Hand over, comment, put off").click()
    item(page, "broken").get_by_label("Put off for").select_option("1h")
    item(page, "broken").get_by_label("Why").fill("The shop opens at nine")
    item(page, "broken").get_by_role("button", name="Put off").click()
    expect(page.locator(".empty")).to_contain_text("Nothing fits this view")
    page.goto("/inbox?snoozed=yes")
    expect(item(page, "broken")).to_contain_text("The shop opens at nine")
    item(page, "broken").get_by_role("button", name="Bring back").click()
    page.goto("/inbox")
    expect(item(page, "broken")).to_be_visible()


def test_a_comment_is_in_the_audit_as_text(page: Page) -> None:
    page.goto("/inbox?reason=outcome_unknown")
    it = item(page, "301")
    it.get_by_text("Hand over, comment, put off").click()
    it.get_by_label("Comment").fill("<img src=x onerror=alert(1)> seen")
    it.get_by_role("button", name="Comment").click()
    expect(item(page, "301")).to_contain_text("1 comment")
    page.goto("/audit?person=ana&verb=tended")
    expect(page.locator("main")).to_contain_text("<img src=x onerror=alert(1)> seen")
    assert page.locator("main img").count() == 0


def test_filters_stand_in_the_address_and_a_view_is_kept_under_a_name(page: Page) -> None:
    page.goto("/inbox")
    page.get_by_text("Filter and keep a view").click()
    page.get_by_label("Receiver").select_option("post")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("receiver=post"))
    expect(page.locator(".item")).to_have_count(2)
    page.reload()
    expect(page.locator(".item")).to_have_count(2)
    page.get_by_label("Keep this view as").fill("At the post")
    page.get_by_role("button", name="Keep", exact=True).click()
    page.goto("/inbox")
    expect(page.locator(".item")).not_to_have_count(2)
    page.get_by_role("link", name="At the post").click()
    expect(page.locator(".item")).to_have_count(2)
    expect(page.get_by_role("link", name="At the post")).to_have_attribute("aria-current", "page")


def test_a_bulk_act_shows_its_count_first_and_acts_on_what_was_seen(page: Page, here: House) -> None:
    page.goto("/inbox")
    page.get_by_role("region", name="To approve").get_by_role("link", name="Act on all").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Hand over: 2 things")
    expect(page.locator(".item")).to_have_count(2)
    page.get_by_label("To whom").fill("oscar")
    here.cli.submit("buy", "103")  # another one fits by now
    here.cli.drive()
    page.get_by_role("button", name="Hand over all 2").click()
    expect(page.locator("main")).to_contain_text("selection_changed")
    page.goto("/inbox/bulk?reason=review&act=hand-over")
    expect(page.get_by_role("heading", level=1)).to_have_text("Hand over: 3 things")
    page.get_by_label("To whom").fill("oscar")
    page.get_by_role("button", name="Hand over all 3").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("3 of 3 done")
    page.get_by_role("link", name="Back to the view").click()
    expect(page.locator(".item").filter(has_text="taken by oscar")).to_have_count(3)


def test_what_cannot_be_acted_on_so_is_left_out(page: Page) -> None:
    page.goto("/inbox/bulk?reason=review&act=lookup")
    expect(page.locator(".empty")).to_contain_text("Nothing in this view can be acted on so")
    expect(page.locator(".lead")).to_contain_text("left out")


def test_open_forms_and_typed_text_survive_what_others_do(page: Page, here: House) -> None:
    page.goto("/inbox")
    expect(page.locator("body")).to_have_attribute("data-connection", "open")
    it = item(page, "300")
    it.get_by_text("Hand over, comment, put off").click()
    it.get_by_label("Comment").fill("half a sentence")
    here.cli.submit("broken", "401")
    expect(page.get_by_role("region", name="Step failed").locator(".item")).to_have_count(2)
    expect(it.get_by_label("Comment")).to_have_value("half a sentence")
    expect(it.get_by_label("Comment")).to_be_focused()


def test_an_item_is_taken_by_the_keyboard(page: Page) -> None:
    page.goto("/inbox?reason=outcome_unknown")
    page.keyboard.press("j")
    page.keyboard.press("t")
    expect(page.get_by_role("status")).to_contain_text("Yours: run-")


@pytest.mark.parametrize("address", ["/inbox?text=nothing+like+it", "/inbox?receiver=parcels"])
def test_an_empty_view_says_what_would_stand_there(page: Page, address: str) -> None:
    page.goto(address)
    expect(page.locator(".empty")).to_contain_text("What was put off is left out")
