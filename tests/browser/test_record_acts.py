"""People act in a real browser: resolve, approve, meet each other, come too late, and see the run go on without a reload."""

from collections.abc import Generator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser.conftest import PATIENCE_MS, sign_in
from tests.browser.house import House
from tests.browser.records import answered, kill, newest_review, records_house, submitted, wait_until, worker

LONG_MS = 45_000


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    """Served without a worker: what a person does stands, and nothing moves before a worker comes."""
    with records_house(tmp_path_factory.mktemp("acts")) as lived:
        lived.serve("--no-worker")
        yield lived


@pytest.fixture(scope="module")
def oscars(chromium: Browser, here: House) -> Any:
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    sign_in(page, here, "oscar")
    kept = context.storage_state()
    context.close()
    return kept


@pytest.fixture
def other(chromium: Browser, here: House, oscars: Any) -> Generator[Page, None, None]:
    """Oscar's browser."""
    context = chromium.new_context(base_url=here.url, storage_state=oscars)
    context.set_default_timeout(PATIENCE_MS)
    yield context.new_page()
    context.close()


def test_an_unknown_outcome_is_found_read_and_resolved(page: Page, here: House) -> None:
    run = submitted(here, "letter", "acorn")
    wait_until(here, f"run-{run['number']}", "parked")
    page.goto(f"/runs/run-{run['number']}")
    expect(page.locator("h1")).to_contain_text("Post outcome unknown; reconcile operation")
    page.get_by_role("link", name="Read the evidence of").click()
    expect(page.locator("#attempts")).to_contain_text("The request was written, in part or whole; no answer came.")
    page.get_by_role("link", name="It happened: name the reference").click()
    expect(page.locator(".procedure")).to_contain_text("Ask the post office for the letter's number.")
    page.get_by_label("Reference at the receiver").fill("letter-77")
    page.get_by_label("Reason").fill("The post office read its number to me.")
    page.get_by_role("button", name="Resolve op-").click()
    expect(page.get_by_role("alert")).to_contain_text("evidence")  # neither text nor file: what was typed stays
    expect(page.get_by_label("Reference at the receiver")).to_have_value("letter-77")
    page.get_by_label("Evidence as a file").set_input_files(
        {"name": "call.txt", "mimeType": "text/plain", "buffer": b"Rang at nine."}
    )
    page.get_by_role("button", name="Resolve op-").click()
    expect(page.locator(".said")).to_contain_text("recorded as having happened")
    expect(page.locator("#case")).to_contain_text("A person has shown that it happened.")
    done = wait_until(here, f"run-{run['number']}", "completed")
    assert done["records"]["receipts"][0]["reference"] == "letter-77"


def test_approved_while_the_worker_is_down_then_complete_without_a_reload(page: Page, here: House) -> None:
    run = submitted(here, "onboard", "birch")
    number = newest_review(here)["number"]
    page.goto(f"/runs/run-{run['number']}")
    expect(page.locator("h1")).to_have_text("Waiting for approval of draft 1.")
    page.get_by_role("link", name="Read draft 1 and answer").click()
    page.get_by_label("Comment").fill("As agreed.")
    page.get_by_role("button", name="Approve draft 1").click()
    page.wait_for_url(f"**/reviews/rev-{number}")
    expect(page.locator(".said")).to_contain_text("You approved draft 1.")
    page.goto(f"/runs/run-{run['number']}")
    page.evaluate("window.same = true")
    with worker(here):
        expect(page.locator("h1")).to_contain_text("Completed with case", timeout=LONG_MS)
        expect(page.locator("#receipts")).to_contain_text("case-")
    assert page.evaluate("window.same") is True


def test_two_approve_at_once_one_decides_and_both_are_told(page: Page, other: Page, here: House) -> None:
    submitted(here, "onboard", "cedar")
    review = newest_review(here)
    for reader in (page, other):
        reader.goto(f"/reviews/rev-{review['number']}")
        expect(reader.get_by_role("button", name="Approve draft 1")).to_be_visible()
    page.get_by_role("button", name="Approve draft 1").click(no_wait_after=True)
    other.get_by_role("button", name="Approve draft 1").click(no_wait_after=True)
    said = [str(reader.locator(".said").text_content()) for reader in (page, other)]
    assert sum("You approved draft 1" in text for text in said) == 1, said
    assert sum("had approved it already; your answer is kept" in text for text in said) == 1, said
    decided = here.cli.json("reviews", "show", f"rev-{review['number']}").data
    assert decided["state"] == "approved" and decided["reviewer"] in ("ana", "oscar")
    expect(page.locator(".answers li")).to_have_count(2)


def test_a_stale_tab_is_refused_and_shows_what_is_current(page: Page, here: House) -> None:
    submitted(here, "onboard", "dune")
    review = newest_review(here)
    page.goto(f"/reviews/rev-{review['number']}")
    answered(here, "reject", "oscar", "--comment", "Name the invoices.", "--ask-revision")
    here.cli.drive()
    current = newest_review(here)
    assert current["proposal_version"] == 2
    # The page was told meanwhile; the form is still the one that was filled.
    expect(page.locator("#moved")).to_contain_text(f"rev-{current['number']} asks about draft 2")
    page.get_by_role("button", name="Approve draft 1").click()
    expect(page.locator("h1")).to_have_text("Your answer decided nothing")
    expect(page.locator(".difference")).to_contain_text("medium: two open invoices")
    page.get_by_role("link", name="Read draft 2").click()
    expect(page.locator("h1")).to_have_text("Approve draft 2 of create_case?")
    assert here.cli.json("reviews", "show", f"rev-{current['number']}").data["state"] == "open"


def test_a_page_whose_review_somebody_else_decides_says_so_by_itself(page: Page, here: House) -> None:
    submitted(here, "onboard", "clover")
    review = newest_review(here)
    page.goto(f"/reviews/rev-{review['number']}")
    page.get_by_label("Comment").fill("half a thought")
    answered(here, "approve", "oscar")
    expect(page.locator("#moved")).to_contain_text("This review is approved: oscar answered")
    expect(page.get_by_label("Comment")).to_have_value("half a thought")
    page.get_by_role("button", name="Reject").click()
    expect(page.locator(".lead")).to_have_text("oscar had approved it before you.")


def test_a_form_with_another_digest_approves_nothing(page: Page, here: House) -> None:
    submitted(here, "onboard", "elm")
    review = newest_review(here)
    page.goto(f"/reviews/rev-{review['number']}")
    page.evaluate("document.querySelector('input[name=digest]').value = 'sha256:' + '0'.repeat(64)")
    page.get_by_role("button", name="Approve draft 1").click()
    expect(page.locator("h1")).to_have_text("Your answer decided nothing")
    assert here.cli.json("reviews", "show", f"rev-{review['number']}").data["state"] == "open"


def test_approved_by_keyboard_alone(page: Page, here: House) -> None:
    submitted(here, "onboard", "fern")
    review = newest_review(here)
    page.goto(f"/reviews/rev-{review['number']}")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "comment":
            break
    page.keyboard.type("By hand.")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Approve draft 1"
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") != "none"
    page.keyboard.press("Enter")
    expect(page.locator(".said")).to_contain_text("You approved draft 1.")
    assert here.cli.json("reviews", "show", f"rev-{review['number']}").data["comment"] == "By hand."


def test_two_of_two_must_approve_and_the_page_counts(page: Page, other: Page, here: House) -> None:
    submitted(here, "sign", "gorse")
    review = newest_review(here)
    page.goto(f"/reviews/rev-{review['number']}")
    expect(page.locator("#answer")).to_contain_text("0 of 2 different people have approved")
    page.get_by_role("button", name="Approve draft 1").click()
    expect(page.locator(".said")).to_contain_text("Your approval counts: 1 of 2.")
    other.goto(f"/reviews/rev-{review['number']}")
    expect(other.locator("#answer")).to_contain_text("1 of 2 different people have approved: ana")
    other.get_by_role("button", name="Approve draft 1").click()
    expect(other.locator(".said")).to_contain_text("You approved draft 1.")
    assert here.cli.json("reviews", "show", f"rev-{review['number']}").data["state"] == "approved"


def test_who_approved_is_told_before_the_form_that_somebody_else_resolves(page: Page, other: Page, here: House) -> None:
    run = submitted(here, "notice", "hazel")
    answered(here, "approve", "ana")
    number = wait_until(here, f"run-{run['number']}", "parked")["records"]["operations"][0]["number"]
    page.goto(f"/operations/op-{number}/resolve")
    expect(page.get_by_role("note").filter(has_text="You approved what was sent")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_count(0)
    other.goto(f"/operations/op-{number}/resolve")
    expect(other.get_by_label("Reason")).to_be_visible()


def test_who_proposed_is_told_that_it_cannot_approve(page: Page, other: Page, here: House) -> None:
    submitted(here, "onboard", "heather")
    answered(here, "reject", "ana", "--comment", "Name the invoices.", "--ask-revision")
    here.cli.drive()
    number = newest_review(here)["number"]
    page.goto(f"/reviews/rev-{number}")
    expect(page.get_by_role("button", name="Approve")).to_have_attribute("aria-disabled", "true")
    expect(page.locator("#answer")).to_contain_text("You proposed this; somebody else approves it. You may reject it.")
    other.goto(f"/reviews/rev-{number}")
    expect(other.get_by_role("button", name="Approve draft 2")).to_be_enabled()


def test_the_receiver_is_asked_on_demand_and_stands_beside_ours(page: Page, here: House) -> None:
    run = submitted(here, "parcel", "holly")
    number = run["records"]["operations"][0]["number"]
    page.goto(f"/operations/op-{number}")
    expect(page.locator("#asked")).to_contain_text("not asked yet")
    page.locator("#asked").get_by_role("button", name="Ask the receiver now").click()
    expect(page.locator(".said")).to_contain_text("The receiver holds one record with our content.")
    expect(page.locator("#asked")).to_contain_text("the same")
    reference = run["records"]["receipts"][0]["reference"]
    expect(page.locator("#asked tbody tr").first).to_have_text(f"Reference{reference}{reference}")


def test_a_resolution_of_an_older_version_is_refused_and_shows_what_moved(page: Page, other: Page, here: House) -> None:
    run = submitted(here, "letter", "ivy")
    number = wait_until(here, f"run-{run['number']}", "parked")["records"]["operations"][0]["number"]
    for reader in (page, other):
        reader.goto(f"/operations/op-{number}/resolve?way=failed")
        reader.get_by_label("Reason").fill("They do not have it.")
        reader.get_by_label("Evidence", exact=False).first.fill("Rang, two days in a row.")
    page.get_by_role("button", name="Resolve op-").click()
    expect(page.locator(".said")).to_contain_text("recorded as not having happened")
    other.get_by_role("button", name="Resolve op-").click()
    expect(other.locator("h1")).to_have_text("Nothing was resolved: the operation moved")
    expect(other.locator("table.entries")).to_contain_text("by ana")


def test_a_server_that_is_killed_is_noticed_and_the_page_recovers(page: Page, here: House) -> None:
    run = submitted(here, "onboard", "juniper")
    port = here.url.rpartition(":")[2]
    page.goto(f"/runs/run-{run['number']}")
    expect(page.locator("body")).to_have_attribute("data-connection", "open")
    page.evaluate("window.same = true")
    kill(here)
    expect(page.locator("#connection")).to_be_visible()
    expect(page.locator("#connection")).to_contain_text("Connection lost.")
    answered(here, "approve", "oscar")  # while nobody could tell the page
    here.cli.drive()
    here.serve("--no-worker", "--port", port)
    expect(page.locator("#connection")).to_be_hidden(timeout=LONG_MS)
    expect(page.locator("h1")).to_contain_text("Completed with case", timeout=LONG_MS)
    assert page.evaluate("window.same") is True


def test_what_was_committed_before_the_stream_began_is_not_missed(context: BrowserContext, here: House) -> None:
    run = submitted(here, "onboard", "knotweed")
    page = context.new_page()
    page.goto(f"/runs/run-{run['number']}")
    live = str(page.get_attribute("body", "data-live"))
    told = page.evaluate(
        """address => new Promise(done => { const stream = window.stream = new EventSource(address);
            stream.addEventListener('changed', message => { stream.close(); done(message.lastEventId); }); })""",
        live.replace(f"seen={run['records']['execution_state']['entries'][-1]['sequence']}", "seen=0"),
    )
    assert int(told) == run["records"]["execution_state"]["entries"][-1]["sequence"]
