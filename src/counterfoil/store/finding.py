"""What a person types for a thing: the number that is in it."""

import re

_NUMBER = re.compile(
    r"^(?:(?P<kind>run|op|operation|rev|review|inc|incident|budget|conversation|doc|document)-)?(?P<number>[0-9]{1,15})$"
)
_KINDS = {
    "run": "run",
    "op": "operation",
    "operation": "operation",
    "rev": "review",
    "review": "review",
    "inc": "incident",
    "incident": "incident",
    "budget": "budget",
    "conversation": "conversation",
    "doc": "document",
    "document": "document",
}


def numbers_in(text: str) -> dict[str, int | None]:
    """`run-184` is a run's number, `184` anybody's. Names of parameters of the query `find`, None where it is none."""
    match = _NUMBER.match(text)
    kind = _KINDS.get(match["kind"] or "") if match else None
    return {
        f"{name}_number": int(match["number"]) if match and kind in (None, name) else None
        for name in dict.fromkeys(_KINDS.values())
    }
