"""The pages of runs, operations and reviews, read in a real browser: to scale, to the evidence, on paper, on a phone, by axe."""

import re
from collections.abc import Generator
from io import BytesIO
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from pypdf import PdfReader

from tests.browser.conftest import PATIENCE_MS, heard, sign_in, violations
from tests.browser.house import House
from tests.browser.records import a_life, answered, records_house, shown, submitted

PAGES = (
    "/runs/run-1", "/runs/run-2", "/runs/run-3", "/runs/run-1/entries", "/runs/run-1/entries/6", "/operations/op-1", "/operations/op-2",
    "/operations/op-2/resolve", "/reviews/rev-1", "/reviews/rev-4",
)  # fmt: skip
LONG_STEPS = 2000
QUICK_MS = 2_500


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Generator[House, None, None]:
    """A finished run with a crash in it, an unknown outcome, a draft that waits; served without a worker."""
    with records_house(tmp_path_factory.mktemp("records")) as lived:
        a_life(lived)
        submitted(lived, "onboard", "cedar")
        answered(lived, "reject", "ana", "--comment", "Name the open invoices.", "--ask-revision")
        lived.cli.drive()
        submitted(lived, "long", "dune")
        a_reader(lived)
        lived.serve("--no-worker")
        yield lived


def a_reader(here: House) -> None:
    """Vera may read receipts, and no other kind of record."""
    secret = "what only vera knows"
    (here.cli.folder / ".counterfoil" / "vera.secret").write_text(secret)
    here.cli.environ["COUNTERFOIL_SECRET"] = secret
    assert here.cli("people", "add", "vera", "--role", "viewer").status == 0
    del here.cli.environ["COUNTERFOIL_SECRET"]
    assert here.cli.json("roles", "grant", "viewer", "read", "--kind", "receipts").status == 0


@pytest.fixture(params=["light", "dark"])
def tester(request: pytest.FixtureRequest, chromium: Browser, here: House, session: Any) -> Generator[Page, None, None]:
    """A page into which axe may be put, in both colours."""
    made = chromium.new_context(
        base_url=here.url, storage_state=session, bypass_csp=True, color_scheme=request.param, reduced_motion="reduce"
    )  # fmt: skip
    made.set_default_timeout(PATIENCE_MS)
    yield made.new_page()
    made.close()


# ---------------------------------------------------------------------- the sentence and the four questions


def test_the_sentence_comes_first(page: Page) -> None:
    for run, sentence in (
        ("run-1", "Completed with case case-814."), ("run-2", "Post outcome unknown; reconcile operation op-2."),
        ("run-3", "Waiting for approval of draft 2."),
    ):  # fmt: skip
        page.goto(f"/runs/{run}")
        expect(page.locator("h1")).to_have_text(sentence)


def test_the_four_questions_are_answered_and_who_moves_it_has_a_button(page: Page) -> None:
    page.goto("/runs/run-2")
    for question in ("Who can move it forward", "Uncertain", "Pending", "Changed since approval", "Established"):
        expect(page.get_by_role("heading", name=question, exact=True)).to_be_visible()
    expect(page.locator(".question", has_text="Uncertain")).to_contain_text("op-2")
    page.get_by_role("link", name="Read the evidence of op-2").click()
    expect(page.locator("h1")).to_have_text("send_letter to post")


def test_the_six_records_are_kept_apart(page: Page) -> None:
    page.goto("/runs/run-1")
    for name in ("Conversation", "Working context", "Execution state", "Operations", "Receipts", "Approvals"):
        expect(
            page.locator("section.record").filter(has=page.get_by_role("heading", name=name, exact=True))
        ).to_have_count(1)
    expect(page.locator("#conversation")).to_contain_text("Please open a case for acme.")
    expect(page.locator("#context ins")).to_contain_text("Risk as decided: low")
    expect(page.locator("#receipts")).to_contain_text("case-814")


# ---------------------------------------------------------------------- to scale


def bars(page: Page) -> list[dict[str, Any]]:
    """Every bar as it is drawn, with the times that it stands for."""
    return page.evaluate(
        """() => [...document.querySelectorAll('.waterfall .bar')].map(bar => {
            const box = bar.getBoundingClientRect(), whole = bar.ownerSVGElement.getBoundingClientRect();
            return {left: (box.left - whole.left) / whole.width, width: box.width / whole.width, kind: bar.classList[1],
                    lane: bar.dataset.lane, begins: +bar.dataset.begins, ends: +bar.dataset.ends, took: +bar.dataset.took};
        })"""
    )


@pytest.mark.parametrize("width", [360, 1400])
def test_widths_are_proportional_to_durations(page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 900})
    page.goto("/runs/run-1")
    begins, span = page.evaluate("(({begins, span}) => [+begins, +span])(document.querySelector('.waterfall').dataset)")
    drawn = bars(page)
    assert len(drawn) >= 12
    for bar in drawn:
        duration, start = (bar["ends"] - bar["begins"]) / span, (bar["begins"] - begins) / span
        assert bar["width"] == pytest.approx(duration, rel=0.05, abs=0.0005), bar
        assert bar["left"] == pytest.approx(start, rel=0.05, abs=0.0005), bar
    assert {bar["lane"] for bar in drawn} == {"waiting", "running", "steps", "decisions", "attempts"}
    assert "crashed" in {bar["kind"] for bar in drawn}
    longest = max(drawn, key=lambda bar: bar["took"])
    shorter = next(bar for bar in drawn if bar["took"] < longest["took"] / 4 and bar["took"] > span / 50)
    assert longest["width"] / shorter["width"] == pytest.approx(longest["took"] / shorter["took"], rel=0.05)


def test_a_closer_look_is_to_scale_as_well(page: Page) -> None:
    page.goto("/runs/run-1")
    page.locator(".look a").nth(1).click()
    page.wait_for_url("**begins=**")
    span = float(page.get_attribute(".waterfall", "data-span") or 0)
    for bar in bars(page):
        assert bar["width"] == pytest.approx((bar["ends"] - bar["begins"]) / span, rel=0.05, abs=0.0005)
    step = next(bar for bar in bars(page) if bar["lane"] == "steps")
    assert step["width"] > 0.05  # what could not be seen in the whole is seen here


def test_cost_crash_and_takeover_are_in_the_picture_and_in_its_list(page: Page) -> None:
    page.goto("/runs/run-1")
    titles = " ".join(page.locator(".waterfall .bar-group title").all_text_contents())
    assert "0.0149 USD" in titles and "was lost" in titles and "takes over" in titles
    page.get_by_text("The same as a list").click()
    rows = page.locator("#time-list tbody tr")
    assert rows.count() == page.locator(".waterfall .bar").count()
    expect(page.locator("#time-list")).to_contain_text("0.0149 USD")
    expect(page.locator("#time-list")).to_contain_text("clerk-1, prompt 2026-11, 1318 tokens in, 96 out")


# ---------------------------------------------------------------------- down to the evidence


def test_every_entry_opens_to_its_evidence_in_place(page: Page) -> None:
    page.goto("/runs/run-1")
    rows = page.locator("table.entries tbody tr")
    before = "sha256:" + "0" * 64
    for sequence in range(4):
        row = rows.nth(sequence)
        row.locator("summary").click()
        evidence = row.locator(".evidence")
        expect(evidence).to_contain_text("follows from both")
        digests = [code.get_attribute("title") for code in evidence.locator(".chain .digest").all()]
        assert digests[1] == before
        before = str(digests[0])
        assert before == row.locator("td > .digest").get_attribute("title")


def test_without_a_script_an_entry_is_a_page(chromium: Browser, here: House, session: Any) -> None:
    context = chromium.new_context(base_url=here.url, storage_state=session, java_script_enabled=False)
    page = context.new_page()
    page.goto("/runs/run-1")
    expect(page.get_by_role("link", name="Reload")).to_be_visible()
    page.locator("table.entries tbody tr").nth(6).get_by_role("link", name="6", exact=True).click()
    expect(page.locator("h1")).to_have_text("Entry 6: decision decide clerk")
    expect(page.locator(".stored").first).to_contain_text('"prompt_version": "2026-11"')
    context.close()


def test_a_run_of_two_thousand_steps_stays_quick(page: Page) -> None:
    timing = page.goto("/runs/run-4")
    assert timing is not None and timing.ok
    took = page.evaluate(
        "(({responseEnd, requestStart}) => responseEnd - requestStart)(performance.getEntriesByType('navigation')[0])"
    )
    assert took < QUICK_MS
    assert page.locator("table.entries tbody tr").count() == 100
    assert page.locator(".waterfall .bar").count() < 300
    page.get_by_role("link", name="Read on from entry 100").click()
    expect(page.locator("table.entries tbody tr").first).to_contain_text("100")
    assert page.evaluate("document.querySelectorAll('*').length") < 4000
    response = page.request.get("/runs/run-4?whole=yes")
    assert response.text().count('id="entry-row-') == LONG_STEPS + 3


# ---------------------------------------------------------------------- an operation


def test_the_life_marks_the_state_and_the_way_it_took(page: Page) -> None:
    page.goto("/operations/op-2")
    expect(page.locator(".life .node.current text")).to_have_text("unknown")
    taken = page.locator(".life .move.taken")
    ways = [(way.get_attribute("data-begins"), way.get_attribute("data-ends")) for way in taken.all()]
    assert sorted(ways) == [("in_flight", "unknown"), ("prepared", "in_flight")]


def test_what_may_not_be_done_is_greyed_with_the_reason(page: Page) -> None:
    page.goto("/operations/op-2")
    button = page.locator("#acts").get_by_role("button", name="Send again, same key")
    expect(button).to_have_attribute("aria-disabled", "true")
    why = page.locator(f"#{button.get_attribute('aria-describedby')}")
    expect(why).to_have_text("Its key may not be used again: this receiver takes no key.")
    expect(page.locator("#acts").get_by_role("link", name="It did not happen")).to_be_visible()
    expect(page.locator("#case")).to_contain_text("Nothing that we may do can tell.")
    expect(page.locator("#contract")).to_contain_text("Ask the post office for the letter's number.")


def test_the_window_of_the_key_counts_down(page: Page) -> None:
    page.goto("/operations/op-1")
    window = page.locator(".window time[data-until]")
    expect(window).to_have_text(re.compile(r"in 2\d h"))
    assert re.match(r"\d{4}-", str(window.get_attribute("datetime")))


# ---------------------------------------------------------------------- a review


def test_a_review_shows_what_would_leave_and_what_it_rests_on(page: Page) -> None:
    page.goto("/reviews/rev-4")
    target = page.locator("table.fields tr", has=page.get_by_role("rowheader", name="customer"))
    expect(target).to_contain_text("target")
    expect(target.locator("td")).to_have_text("cedar")
    changed = page.locator("table.difference").first
    expect(changed.locator("tr", has_text="risk")).to_contain_text("medium: two open invoices")
    expect(page.get_by_role("heading", name="Against draft 1, the version before")).to_be_visible()
    rests = page.locator("section", has=page.get_by_role("heading", name="What it rests on"))
    expect(rests).to_contain_text("clerk-1, prompt 2026-11")
    expect(rests).to_contain_text("0.0149 USD")
    expect(rests).to_contain_text("the run so far: 0.0298 USD")
    expect(rests).to_contain_text("invoices.txt")
    expect(page.locator("h1 + p time[data-until]")).to_have_text(re.compile(r"in 7 h"))
    assert str(page.get_attribute("input[name=digest]", "value")).startswith("sha256:")


# ---------------------------------------------------------------------- everywhere


@pytest.mark.parametrize("address", PAGES)
def test_no_violation_by_axe(tester: Page, address: str) -> None:
    tester.goto(address)
    for fold in tester.locator("main details:not(.entry-fold) > summary").all():
        fold.click()
    assert violations(tester) == []


@pytest.mark.parametrize("address", PAGES)
def test_a_phone_needs_no_scrolling_sideways(page: Page, address: str) -> None:
    page.set_viewport_size({"width": 360, "height": 740})
    page.goto(address)
    assert page.evaluate("document.documentElement.scrollWidth") <= 360


def paper(page: Page) -> str:
    """The text of the printed page, without the breaks that its columns make."""
    reader = PdfReader(BytesIO(page.pdf(format="A4")))
    return re.sub(r"\s+", "", " ".join(part.extract_text() for part in reader.pages))


def test_the_printed_page_is_evidence(context: BrowserContext, here: House) -> None:
    page = context.new_page()
    page.goto("/runs/run-1")
    text = paper(page)
    records = shown(here, "run-1")["records"]
    digests = [entry["digest"] for entry in records["execution_state"]["entries"]]
    digests += [o["payload_digest"] for o in records["operations"]] + [a["digest"] for a in records["approvals"]]
    digests += [r["body_digest"] for r in records["receipts"]] + [d["digest"] for d in records["working_context"]]
    missing = [digest for digest in digests if digest.removeprefix("sha256:") not in text]
    assert not missing
    for entry in records["execution_state"]["entries"]:
        assert entry["at"][11:23] in text
    for actor in ("ana", "oscar", *{a["worker_id"] for o in records["operations"] for a in o["attempts"]}):
        assert actor in text


def test_no_page_complains(context: BrowserContext) -> None:
    page = context.new_page()
    complaints = heard(page)
    for address in PAGES:
        response = page.goto(address)
        assert response is not None and response.ok, address
    assert complaints == []


def test_records_of_a_kind_that_is_not_read_are_withheld_and_named(chromium: Browser, here: House) -> None:
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    sign_in(page, here, "vera")
    page.goto("/runs/run-1")
    expect(page.locator("#conversation")).to_contain_text("Withheld: you may not read conversations here.")
    expect(page.locator("#approvals")).to_contain_text("Withheld")
    expect(page.locator("#receipts")).to_contain_text("case-814")
    page.goto("/runs/run-1/entries/6")
    expect(page.locator(".evidence")).to_contain_text("Withheld")
    expect(page.locator(".chain")).to_contain_text("follows from both")
    for address in PAGES:
        answer = page.goto(address)
        assert answer is not None and answer.status == 200, address
        assert "two invoices" not in page.locator("main").inner_text()
    context.close()


def test_who_may_not_see_it_is_told_that_there_is_nothing(chromium: Browser, here: House) -> None:
    context = chromium.new_context(base_url=here.url)
    page = context.new_page()
    page.goto("/runs/run-1")
    page.wait_for_url("**/sign-in?next=**")
    sign_in_response = page.request.get("/live/runs/run-1")
    assert sign_in_response.status in (200, 401) and "event:" not in sign_in_response.text()
    sign_in(page, here, "oscar")
    assert page.goto("/runs/run-99").status == 404  # pyright: ignore[reportOptionalMemberAccess]
    context.close()
