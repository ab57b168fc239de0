"""What a person typed for a thing: an id, the start of one, a number, or something that stands in a record."""

from collections.abc import Callable
from typing import Any

from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.store.port import Reader

_BY_NAME = frozenset({"id", "number"})


def known_id(reader: Reader, what: str, text: str) -> str:
    """The id of one run, operation, review or incident. Raises Refused(not_found) or Refused(ambiguous_id)."""
    found = {hit.id for hit in reader.lists.named(text, limit=200) if hit.kind == what and hit.matched in _BY_NAME}
    if text in found:
        return text  # a whole id, even where it is the start of another
    if not found:
        raise Refused("not_found", what=what, id=text)
    if len(found) > 1:
        raise Refused("ambiguous_id", what=what, id=text)
    return found.pop()


def find(opened: Callable[[], Opened], text: str, *, limit: int = 20) -> dict[str, Any]:
    """`{items: [{kind, id, number, title, run_id, matched}], next_cursor: None}` of whatever the text may mean."""
    with opened().read() as reader:
        hits = reader.lists.find(text.strip(), limit=limit)
    items = [
        {
            "kind": hit.kind, "id": hit.id, "number": hit.number, "title": hit.title, "run_id": hit.run_id,
            "matched": hit.matched,
        }
        for hit in hits
    ]  # fmt: skip
    return {"items": items, "next_cursor": None}
