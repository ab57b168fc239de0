"""What a person typed for a thing: an id, the start of one, a number, or something that stands in a record."""

from collections.abc import Callable
from typing import Any

from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.store.port import Found, Reader

_BY_NAME = frozenset({"id", "number"})


def known_id(reader: Reader, what: str, text: str) -> str:
    """The id of one run, operation, review or incident. Raises Refused(not_found) or Refused(ambiguous_id)."""
    found = {hit.id for hit in reader.lists.find(text, limit=200) if hit.kind == what and hit.matched in _BY_NAME}
    if text in found:
        return text  # a whole id, even where it is the start of another
    if not found:
        raise Refused("not_found", what=what, id=text)
    if len(found) > 1:
        raise Refused("ambiguous_id", what=what, id=text)
    return found.pop()


def find(opened: Callable[[], Opened], text: str, *, limit: int = 20) -> dict[str, Any]:
    """`{items: [{kind, id, number, run_id, matched}], next_cursor: None}` of whatever the text may mean."""
    here = opened()
    with here.read() as reader:
        hits = reader.lists.find(text, limit=limit)
        # A stored business key is joined with receiver, environment and operation; a person types the key alone.
        known = here.registry.operations.values()
        receivers = here.registry.receivers
        keys = [
            "\x1f".join((o.receiver, receivers[o.receiver].environment, o.name, text))
            for o in known
            if o.receiver in receivers
        ]
        found = reader.find(OperationRecord, "business_key", *keys) if keys else []
        hits += [Found("operation", o.operation_id, o.number, o.run_id, "business_key") for o in found[:limit]]
    items = [
        {"kind": hit.kind, "id": hit.id, "number": hit.number, "run_id": hit.run_id, "matched": hit.matched}
        for hit in hits
    ]
    return {"items": items, "next_cursor": None}
