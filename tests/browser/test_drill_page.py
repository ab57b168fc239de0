"""The page of a drill in a browser: opened from a file, read without a script, by keyboard, on a phone, in the dark and on paper."""

from collections.abc import Generator
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from pypdf import PdfReader

from counterfoil.drills.html import page as page_of
from tests.browser.conftest import violations
from tests.docs.pages import ROOT
from tests.drills.sample_report import FAULTS, HOSTILE, report

KEPT = sorted((ROOT / "docs" / "drills").glob("*.html"))


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("drill") / "drill.html"
    made.write_text(page_of(report()))
    return made


@pytest.fixture
def opened(chromium: Browser, file: Path) -> Generator[Page, None, None]:
    """Without scripts: none is needed to read it."""
    context = chromium.new_context(java_script_enabled=False)
    made = context.new_page()
    asked: list[str] = []
    made.on("request", lambda request: asked.append(request.url))
    made.goto(file.as_uri())
    yield made
    assert all(url.startswith(file.as_uri()) for url in asked), "something was asked for elsewhere"
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1400, 360])
@pytest.mark.parametrize("which", ["sample", *(path.name for path in KEPT)])
def test_axe_finds_no_violation_and_nothing_scrolls_sideways(
    chromium: Browser, file: Path, scheme: Any, width: int, which: str
) -> None:
    path = file if which == "sample" else ROOT / "docs" / "drills" / which
    context = chromium.new_context(color_scheme=scheme, viewport={"width": width, "height": 800})
    page = context.new_page()
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach((each, n) => { if (n < 12) each.open = true; })")
    assert violations(page) == []
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    context.close()


def test_a_cell_opens_its_evidence(opened: Page) -> None:
    evidence = opened.locator("#case-13")
    expect(evidence).to_be_hidden()
    opened.get_by_role("link", name="fail: refund/operation.replied#1/freeze-takeover-thaw").click()
    expect(evidence).to_be_visible()
    expect(evidence).to_contain_text("The receiver holds 2 records.")
    expect(evidence).to_contain_text("This command repeats it:")
    evidence.get_by_role("link", name="Back to the matrix").click()
    expect(opened.locator("#matrix")).to_be_in_viewport()


def test_a_case_opens_by_keyboard(opened: Page) -> None:
    summary = opened.locator("details.case > summary").first
    summary.focus()
    opened.keyboard.press("Enter")
    expect(opened.locator("details.case .evidence").first).to_be_visible()


def test_verdicts_are_chosen(opened: Page) -> None:
    cases = opened.locator("details.case")
    expect(cases.filter(visible=True)).to_have_count(15)
    opened.get_by_role("radio", name="fail").check()
    expect(cases.filter(visible=True)).to_have_count(1)
    expect(opened.locator("#matrix td a").filter(visible=True)).to_have_count(1)
    opened.get_by_role("radio", name="all").check()
    expect(cases.filter(visible=True)).to_have_count(15)


def test_a_hostile_text_is_read(opened: Page) -> None:
    assert "<script>" in HOSTILE
    expect(opened.get_by_text("<script>alert(1)</script>").first).to_be_visible()


def test_on_paper_the_evidence_is_open(opened: Page) -> None:
    text = "".join("".join(sheet.extract_text().split()) for sheet in PdfReader(BytesIO(opened.pdf())).pages)
    assert text.count("Thiscommandrepeatsit:") == 15
    assert all(fault in text for fault in FAULTS)
