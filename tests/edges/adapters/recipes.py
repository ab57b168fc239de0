"""The recipes of docs/beside.md: what is drilled is the page's own block."""

from typing import Any

from tests.docs.pages import blocks


def recipe(holds: str) -> dict[str, Any]:
    """The names that the block with this text makes."""
    (block,) = [block for block in blocks("docs/beside.md") if block.language == "python" and holds in block.text]
    made: dict[str, Any] = {"__name__": "recipe"}
    exec(compile(block.text, block.place, "exec", dont_inherit=True), made)
    return made
