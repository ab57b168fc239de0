"""Links and names of files in the documents lead somewhere."""

import re
from urllib.parse import urlsplit

import pytest

from tests.docs.pages import ROOT, anchors, links, pages, prose


@pytest.mark.parametrize("page", pages())
def test_links_lead_somewhere(page: str) -> None:
    wrong: list[str] = []
    for text, target in links(page):
        parts = urlsplit(target)
        if parts.scheme:
            continue
        path = (ROOT / page).parent / parts.path if parts.path else ROOT / page
        if not path.exists():
            wrong.append(f"[{text}]({target}): no such file")
        elif parts.fragment and parts.fragment not in anchors(path.resolve().relative_to(ROOT).as_posix()):
            wrong.append(f"[{text}]({target}): no such heading")
    assert not wrong, page


@pytest.mark.parametrize("page", pages())
def test_files_that_are_named_are_there(page: str) -> None:
    """Paths in backticks: from the root, or, in ARCHITECTURE.md, from the package."""
    named = re.findall(
        r"`((?:src|tests|docs|scripts|engine|rules|store|model|app|receivers|cli)/[\w./-]*\w)`", prose(page)
    )
    wrong = [name for name in named if not (ROOT / name).exists() and not (ROOT / "src/counterfoil" / name).exists()]
    assert not wrong, page


def test_every_page_is_reached_from_the_readme() -> None:
    seen, new = set[str](), {"README.md"}
    while new:
        seen |= new
        new = {
            ((ROOT / page).parent / urlsplit(target).path).resolve().relative_to(ROOT).as_posix()
            for page in new
            for _, target in links(page)
            if urlsplit(target).path.endswith(".md") and not urlsplit(target).scheme
        } - seen
    assert set(pages()) - seen <= {"AGENTS.md", "docs/performance.md"}, "link it, so that somebody finds it"


def test_a_link_is_seen() -> None:
    assert ("All words", "docs/words.md") in links("README.md")
    assert "the-path-of-data" in anchors("ARCHITECTURE.md")
