"""The project's documents as these tests see them: pages, fenced blocks, directives in comments, links."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NAMES = (
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "AGENTS.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "examples/README.md",
    "deploy/README.md",
)

_FENCE = re.compile(r"^```(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_DIRECTIVE = re.compile(r"<!-- (file|change|terminal|stop|status|until|folder): (.+?) -->")
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Block:
    """A fenced block. `directives` stand in comments directly above it."""

    page: str
    line: int
    language: str
    text: str
    directives: dict[str, str]

    @property
    def name(self) -> str:
        """Page and first line: stable while other parts of the page move."""
        return f"{self.page}: {self.text.strip().splitlines()[0] if self.text.strip() else ''}"

    @property
    def place(self) -> str:
        return f"{self.page}:{self.line}"


@cache
def pages() -> dict[str, str]:
    """Every document by its path from the root."""
    found = [ROOT / name for name in NAMES] + sorted((ROOT / "docs").rglob("*.md"))
    return {path.relative_to(ROOT).as_posix(): path.read_text() for path in found}


def blocks(page: str) -> list[Block]:
    text = pages()[page]
    found: list[Block] = []
    for match in _FENCE.finditer(text):
        above = text[: match.start()].rstrip("\n").rsplit("\n\n", 1)[-1]
        directives = dict(_DIRECTIVE.findall(above)) if "```" not in above else {}
        line = text.count("\n", 0, match.start()) + 1
        found.append(Block(page, line, match[1], match[2], directives))
    return found


def prose(page: str) -> str:
    """A page without its fenced blocks."""
    return _FENCE.sub("", pages()[page])


def links(page: str) -> list[tuple[str, str]]:
    """(text, target) of every link outside of fenced blocks."""
    return _LINK.findall(prose(page))


def anchors(page: str) -> set[str]:
    """The anchors of a page's headings, as code hosts make them."""
    heads = re.findall(r"^#+ (.+)$", prose(page), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def tables(text: str) -> list[list[list[str]]]:
    """The tables of a text: rows of cells, the heading first and the rule left out."""
    found: list[list[list[str]]] = []
    for part in re.findall(r"(?:^\|.*\|[ \t]*\n)+", text + "\n", re.MULTILINE):
        rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", row.strip()[1:-1])] for row in part.splitlines()]
        found.append([row for row in rows if not all(re.fullmatch(r":?-+:?", cell) for cell in row)])
    return found


def code_in(text: str) -> list[str]:
    """What stands in single backticks."""
    return re.findall(r"`([^`\n]+)`", text)


def section(page: str, heading: str) -> str:
    """The part of a page below a heading, up to the next one of the same or a higher level."""
    text = pages()[page]
    match = re.search(rf"^(#+) {re.escape(heading)}[ \t]*$", text, re.MULTILINE)
    assert match is not None, f"{page} has no heading {heading!r}"
    rest = text[match.end() :]
    end = re.search(rf"^#{{1,{len(match[1])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest
