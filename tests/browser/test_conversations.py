"""Conversations in a real browser: readable, the record apart from what was said, live, provisional where it is, and inert."""

from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import PATIENCE_MS, sign_in, violations
from tests.browser.house import House
from tests.browser.talks import HOSTILE, Talks, go_on, lived_in, say, shown, talks_house

expect.set_options(timeout=PATIENCE_MS)
PAGES = ("/conversations", "/budgets", "/budgets/budget-1", *(f"/conversations/conversation-{n}" for n in (1, 2, 4)))
RECORDS = ("Conversation", "Working context", "Execution state", "Operations", "Receipts", "Approvals")


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[Talks, None, None]:
    """Served with a worker in the same process, as a user serves it."""
    with talks_house(tmp_path_factory.mktemp("talks")) as house:
        lived_in(house)
        house.serve()
        yield house


def test_the_list_says_where_each_conversation_stands(page: Page) -> None:
    page.goto("/inbox")
    page.keyboard.press("g")
    page.keyboard.press("t")
    page.wait_for_url("**/conversations")
    row = page.get_by_role("row", name="conversation-4")
    expect(row).to_contain_text("helpdesk")
    expect(row).to_contain_text("at work before the newest")
    expect(row.locator("td[data-label='In the queue']")).to_have_text("2")
    expect(page.get_by_role("row", name="conversation-5")).to_contain_text("forked from Order 17")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url("**/conversations/conv_*")
    page.keyboard.press("u")
    page.wait_for_url("**/conversations")


def test_the_transcript_is_readable_and_the_record_stands_apart(page: Page) -> None:
    page.goto("/conversations/conversation-1")
    turn = page.locator("#turn-1")
    texts = turn.locator(".message .message-text").all_text_contents()
    assert texts == ["refund o-17", "Order o-17 is paid back."]
    look, refund = turn.locator(".call").all()
    expect(look).to_contain_text("safe: may run again")
    expect(look).to_contain_text('{"order": "o-17"}')
    expect(look).to_contain_text("chair <i>blue</i>")
    expect(refund).to_contain_text("operation: through the ledger")
    expect(refund.get_by_role("link", name="op-1")).to_be_visible()
    expect(refund.get_by_role("link", name="rev-1")).to_be_visible()
    expect(refund).to_contain_text("Receipt refund-")
    for heading in RECORDS:
        expect(page.get_by_role("heading", name=heading, exact=True)).to_be_visible()
    assert (
        page.locator(".turns .panel, .panel .message").count() == 0
    )  # what was said and the record are never in one frame
    turn.get_by_role("link", name="decision 4").click()
    expect(page.locator("h1")).to_contain_text("Entry 4: decision")


def test_a_run_leads_to_its_turn_and_a_fork_to_its_parent(page: Page) -> None:
    page.goto("/runs/run-1")
    page.get_by_role("link", name="Order 17").click()
    page.wait_for_url("**#turn-1")
    expect(page.locator(".turn")).to_have_count(1)
    page.goto("/conversations/conversation-5")
    expect(page.locator("#turn-1")).to_contain_text("refund o-17")
    page.get_by_role("link", name="Order 17", exact=True).click()
    expect(page.locator(".crumbs")).to_contain_text("conversation-1")


def test_a_reused_receipt_is_marked_and_sent_nothing(page: Page) -> None:
    page.goto("/conversations/conversation-3")
    refund = page.locator(".call.operation")
    expect(refund).to_contain_text("reused: the receipt is another operation's")
    expect(refund).to_contain_text("Receipt refund-")


def test_what_is_queued_is_shown_as_what_it_is(page: Page) -> None:
    page.goto("/conversations/conversation-4")
    queue = page.locator(".queue > li")
    expect(queue.nth(0)).to_contain_text("follow-up")
    expect(queue.nth(0)).to_contain_text("and then?")
    expect(queue.nth(1)).to_contain_text("steer")
    expect(page.locator("#turn-3")).to_contain_text("It waits for the turn before it")


def test_what_is_hostile_is_text(page: Page) -> None:
    for address in ("/conversations", "/conversations/conversation-2", "/runs/run-2"):
        page.goto(address)
        assert page.title() != "owned"
        assert page.locator("main img, main script").count() == 0
    page.goto("/conversations/conversation-2")
    said = HOSTILE.replace("\u202e", "\\u202e")  # what turns the order of the letters is written as its code
    expect(page.locator(".message.agent .message-text")).to_have_text(said)
    assert "{{ 7*7 }}" in page.locator(".call").inner_text()
    assert "\u202e" not in page.locator("#conversation").inner_text()


def test_an_approved_turn_is_finished_before_ones_eyes(page: Page, here: House, chromium: Browser) -> None:
    say(here, "refund o-18", "Order 18")
    address = f"/conversations/{shown(here, 'Order 18')['conversation_id']}"
    page.goto(address)
    page.evaluate("window.notReloaded = true")
    expect(page.locator("#moves")).to_contain_text("manager")
    expect(page.locator(".turn-next")).to_contain_text("approv")
    other = chromium.new_context(base_url=here.url)
    other.set_default_timeout(PATIENCE_MS)
    oscar = other.new_page()
    sign_in(oscar, here, "oscar")
    oscar.goto(address)
    oscar.get_by_role("link", name="and answer").click()
    oscar.get_by_role("button", name="Approve").first.click()
    expect(page.locator(".message.agent .message-text")).to_have_text("Order o-18 is paid back.")
    expect(page.locator("#moves")).to_contain_text("Nobody is at work.")
    assert page.evaluate("window.notReloaded")
    other.close()


def test_what_is_being_written_is_provisional_until_it_is_saved(page: Page, here: Talks) -> None:
    say(here, "first", "Slow")
    talk = shown(here, "Slow")["conversation_id"]
    page.goto(f"/conversations/{talk}")
    expect(page.locator("#turn-1 .message.agent")).to_contain_text("You said: first")
    page.evaluate("window.notReloaded = true")
    say(here, "slowly now", "Slow")
    writing = page.locator("#turn-2 .provisional")
    expect(writing).to_contain_text("No answer is saved yet.")  # from here on the page listens to this turn
    go_on(here)
    expect(writing.locator("[data-written]")).to_contain_text("said:")
    expect(writing).to_contain_text(
        "Being written now. It is stored nowhere, and void unless it is saved as a decision."
    )
    assert page.locator("#turn-2 .message.agent").count() == 0
    go_on(here)
    expect(page.locator("#turn-2 .message.agent .message-text")).to_have_text("You said: slowly now")
    expect(page.locator(".provisional")).to_have_count(0)
    assert page.evaluate("window.notReloaded")


def test_a_message_is_sent_once_however_often_its_form_is(page: Page, here: House) -> None:
    page.goto("/conversations")
    page.get_by_text("Begin a conversation").click()
    page.get_by_label("With the agent").select_option("helpdesk")
    page.get_by_label("Name of the conversation").fill("From the page")
    page.get_by_label("Message").fill("hello")
    page.get_by_role("button", name="Send").click()
    page.wait_for_url("**/conversations/conv_*")
    expect(page.locator("body")).to_contain_text("Turn 1 of From the page is accepted.")
    expect(page.locator("#turn-1 .message.agent .message-text")).to_have_text("You said: hello")
    request_id = page.locator("#speak input[name=request_id]").input_value()
    page.get_by_label("Message to helpdesk").fill("and again")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#turn-2 .message.agent .message-text")).to_have_text("You said: and again")
    form: dict[str, str | float | bool] = {"request_id": request_id, "text": "and again", "when_busy": "follow_up"}
    same = {"Origin": here.url, "Sec-Fetch-Site": "same-origin"}
    address = page.url.rstrip("/") + "/messages"
    assert page.request.post(address, form=form, headers=same).status == 200, "the same form, sent again"
    assert page.request.post(address, form=form, headers={"Origin": "http://elsewhere.example"}).status == 403
    assert shown(here, "From the page")["turns"] == 2
    assert page.locator("#speak input[name=request_id]").input_value() != request_id


def test_a_conversation_is_found_by_its_name_and_number(page: Page) -> None:
    for text in ("Order 17", "conversation-1"):
        page.goto(f"/find?q={text}")
        page.wait_for_url("**/conversations/conv_*")
        expect(page.locator("h1")).to_have_text("Order 17")


def test_a_shared_budget_is_raised_with_a_reason(page: Page) -> None:
    page.goto("/budgets")
    page.get_by_role("link", name="All talks").click()
    page.wait_for_url("**/budgets/budget-1")
    expect(page.locator(".budgets")).to_contain_text("of 1000000")
    page.get_by_label("New limit").fill("2000000")
    page.get_by_label("Reason").fill("more talks")
    page.get_by_role("button", name="Raise it").click()
    expect(page.locator("body")).to_contain_text("All talks has a new limit of tokens: 2000000.")
    expect(page.locator(".budgets")).to_contain_text("of 2000000")


@pytest.mark.parametrize(("scheme", "addresses"), [("light", PAGES), ("dark", PAGES[-1:])])
def test_axe_finds_no_violation(chromium: Browser, here: House, session: Any, scheme: Any, addresses: Any) -> None:
    context = chromium.new_context(base_url=here.url, storage_state=session, color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    for address in addresses:
        page.goto(address)
        assert violations(page) == []
    context.close()


def test_nothing_scrolls_sideways_on_a_phone(chromium: Browser, here: House, session: Any) -> None:
    context = chromium.new_context(base_url=here.url, storage_state=session, viewport={"width": 360, "height": 740})
    page = context.new_page()
    for address in PAGES:
        page.goto(address)
        assert page.evaluate("document.scrollingElement.scrollWidth") <= 360, address
    context.close()


def test_an_interrupted_call_is_marked_and_says_who_moves_it_on(page: Page) -> None:
    """Last: the attempt's time has passed meanwhile."""
    page.goto("/conversations/conversation-1")
    call = page.locator("#turn-2 .call")
    expect(call).to_contain_text("interrupted: nobody knows yet whether it happened", timeout=2 * PATIENCE_MS)
    expect(page.locator("#turn-2 .message.agent .message-text")).to_have_text(
        "I could not see whether o-17 was paid; somebody looks."
    )
    expect(page.locator("#moves")).to_contain_text("parked")
    expect(page.locator("#moves")).to_contain_text("desk")
    expect(page.get_by_role("link", name="Read the evidence of op-")).to_be_visible()
