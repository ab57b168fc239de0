"""What people do in the console, in a real browser against a real server."""

import re
from typing import Any

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import sign_in
from tests.browser.house import House


def test_sign_in_and_out(chromium: Browser, here: House) -> None:
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    page.goto("/runs?state=parked")
    expect(page).to_have_url(re.compile("/sign-in"))
    page.get_by_label("Name").fill("ana")
    page.get_by_label("Secret").fill("not it")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Name")).to_have_value("ana")
    page.get_by_label("Secret").fill(here.secret("ana"))
    page.get_by_role("button", name="Sign in").click()
    expect(page).to_have_url(re.compile(r"/runs\?state=parked$"))
    page.get_by_role("button", name="ana").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/sign-in"))
    page.goto("/runs")
    expect(page).to_have_url(re.compile("/sign-in"))
    context.close()


def test_a_filter_in_the_address_survives_a_reload(page: Page) -> None:
    page.goto("/runs")
    page.get_by_label("Workflow").select_option("buy")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("workflow=buy"))
    numbers = page.locator(".row-link").all_inner_texts()
    assert len(numbers) == 3
    page.reload()
    assert page.locator(".row-link").all_inner_texts() == numbers
    expect(page.get_by_label("Workflow")).to_have_value("buy")


def test_the_search_box_leads_to_the_thing(page: Page) -> None:
    page.goto("/inbox")
    page.keyboard.press("/")
    page.keyboard.type("buy-100")
    page.keyboard.press("Enter")
    expect(page).to_have_title(re.compile("run-1 "))


def test_a_stop_shows_everywhere_until_it_is_lifted(page: Page) -> None:
    page.goto("/stop")
    page.get_by_label("One receiver").check()
    page.get_by_label("Receiver", exact=True).select_option("parcels")
    page.get_by_label("Reason").fill("They told us to wait")
    page.get_by_label("Nothing more is sent there").check()
    page.get_by_role("button", name="Stop sending").click()
    expect(page.get_by_role("status").filter(has_text="Sending is stopped")).to_be_visible()
    for address in ("/inbox", "/runs", "/operations/op-1", "/nothing-here"):
        page.goto(address)
        banner = page.get_by_label("Notices")
        expect(banner).to_contain_text("ana")
        expect(banner).to_contain_text("They told us to wait")
    page.goto("/stop")
    page.get_by_text("Let sending go on").click()
    page.get_by_label("Reason").first.fill("They are done")
    page.get_by_label("What was held is sent now").check()
    page.get_by_role("button", name="Resume sending").click()
    expect(page.get_by_label("Notices")).not_to_contain_text("They told us to wait")


def test_a_chosen_colour_stays(chromium: Browser, here: House, session: Any) -> None:
    context = chromium.new_context(base_url=here.url, storage_state=session, color_scheme="light")
    page = context.new_page()
    page.goto("/runs")
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="ana").click()
    page.get_by_role("button", name="Dark").click()
    expect(page).to_have_url(re.compile("/runs$"))
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.goto("/receivers")
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


def test_a_list_follows_the_record_without_a_reload(page: Page, here: House) -> None:
    page.goto("/runs?workflow=waits")
    expect(page.locator("body")).to_have_attribute("data-connection", "open")
    before = page.locator(".row-link").count()
    page.evaluate("window.notReloaded = true")
    here.cli.submit("waits", "501")
    expect(page.locator(".row-link")).to_have_count(before + 1)
    assert page.evaluate("window.notReloaded")


def test_a_lost_connection_shows_itself_and_recovers(page: Page, here: House) -> None:
    page.goto("/runs?workflow=waits")
    expect(page.locator("body")).to_have_attribute("data-connection", "open")
    before = page.locator(".row-link").count()
    here.stop()
    expect(page.locator("#connection")).to_be_visible()
    expect(page.locator("#connection")).to_contain_text("Connection lost")
    here.cli.submit("waits", "502")
    here.serve()
    expect(page.locator("#connection")).to_be_hidden(timeout=30_000)
    expect(page.locator(".row-link")).to_have_count(before + 1)


def test_everything_works_without_a_script(chromium: Browser, here: House) -> None:
    context = chromium.new_context(base_url=here.url, java_script_enabled=False)
    page = context.new_page()
    sign_in(page, here, "oscar")
    page.get_by_role("link", name="Runs").click()
    page.get_by_role("link", name="Parked").click()
    expect(page.locator(".row-link").first).to_be_visible()
    page.get_by_role("button", name="oscar").click()
    page.get_by_role("button", name="Dark").click()
    assert page.locator("html").get_attribute("data-theme") == "dark"
    context.close()


def test_by_keyboard_alone(page: Page) -> None:
    page.goto("/runs")
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()
    page.keyboard.press("j")
    expect(page.locator(".row-link").first).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    first = page.locator(".row-link").first
    expect(first).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("?")
    expect(page.locator("#shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#shortcuts")).to_be_hidden()
    page.keyboard.press("g")
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("/operations$"))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/operations/op-"))


def test_too_many_tries_say_when_to_try_again(chromium: Browser, here: House) -> None:
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    for _ in range(11):
        page.goto("/sign-in")
        page.get_by_label("Name").fill("nobody-at-all")
        page.get_by_label("Secret").fill("guess")
        with page.expect_navigation() as answered:
            page.get_by_role("button", name="Sign in").click()
        answer = answered.value
    assert answer is not None
    assert answer.status == 429
    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"in \d+ s"))
    context.close()


def test_who_may_do_little_is_told_so(chromium: Browser, here: House) -> None:
    here.cli.environ["COUNTERFOIL_SECRET"] = "an auditor's secret"
    assert here.cli.json("people", "add", "vera", "--role", "auditor").status == 0
    del here.cli.environ["COUNTERFOIL_SECRET"]
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    page.goto("/sign-in")
    page.get_by_label("Name").fill("vera")
    page.get_by_label("Secret").fill("an auditor's secret")
    page.get_by_role("button", name="Sign in").click()
    page.goto("/stop")
    expect(page.locator("main")).to_contain_text("You may not stop sending")
    page.goto("/inbox?reason=outcome_unknown")
    page.get_by_role("button", name="Take").first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("This is not yours to do")
    expect(page.locator("main")).to_contain_text("What is safe to do now")
    page.goto("/audit")
    expect(page.get_by_role("heading", level=1)).to_have_text("Audit")
    context.close()
