"""Tables that say what the code says are what the code says."""

import pytest

from tests.crash.rows import PROOFS, row
from tests.docs.pages import code_in, pages, tables
from tests.docs.receivers import receiver_pages
from tests.docs.written import DOCS, PARTS, crash_tests, with_parts


@pytest.mark.parametrize("name", PARTS)
def test_the_written_parts_are_what_the_code_says(name: str) -> None:
    page = (DOCS / name).read_text()
    assert with_parts(page, PARTS[name]) == page, "write them anew: python -m tests.docs.written"


def test_each_receiver_has_the_page_that_the_catalogue_says() -> None:
    there = {file.name: file.read_text() for file in (DOCS / "receivers").glob("*.md") if file.name != "README.md"}
    assert there == receiver_pages(), "write them anew: python -m tests.docs.written"


def test_a_written_part_is_read_as_a_table() -> None:
    cases = tables(pages()["docs/recovery.md"])[0]
    assert cases[0] == ["case", "facts in words", "ruling", "combinations", "sentence"]
    assert ["Z", "ask a person: outcome_unknown"] in [[row[0], row[2]] for row in cases]


def test_a_changed_page_is_found() -> None:
    page = (DOCS / "settings.md").read_text()
    assert with_parts(page.replace("`256`", "`255`"), PARTS["settings.md"]) == page
    with pytest.raises(AssertionError):
        with_parts(page.replace("<!-- end: settings -->", ""), PARTS["settings.md"])


def test_every_row_about_agents_has_a_test_and_every_test_a_row() -> None:
    there = crash_tests()
    proven = {test for tests in PROOFS.values() for test in tests}
    assert there <= proven and len(there) > 20
    assert [name for name, tests in PROOFS.items() if not tests] == []
    with pytest.raises(KeyError):
        row("no such row")(test_a_changed_page_is_found)


def test_code_in_backticks_is_seen() -> None:
    assert "COUNTERFOIL_STATE" in code_in(pages()["docs/settings.md"])
