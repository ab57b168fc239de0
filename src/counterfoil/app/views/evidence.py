"""An entry of a journal with its evidence: what was stored, its digest, and the digest before it."""

from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.model.codec import parsed
from counterfoil.model.journal import GENESIS, Entry, EntryKind, chained

_ACTORS = ("by", "person", "worker")

WITHHELD = "withheld"


def evidence_view(entry: Entry, previous: Entry | None) -> dict[str, Any]:
    """`{run_id, sequence, kind, position, name, at, actor, digest, previous_digest, links, data, rows}`.

    `links`: whether the digest follows from the one before it and the bytes stored, computed now. `rows`: the changes of
    evidence that the entry carries, by table and key.
    """
    body: dict[str, Any] = parsed(entry.body)
    head = GENESIS if previous is None else previous.digest
    again = chained(
        head, entry.run_id, entry.sequence, entry.kind, entry.position, entry.name, entry.body, entry.at
    )  # fmt: skip
    return entry_line(entry, body) | {
        "run_id": entry.run_id,
        "previous_digest": f"sha256:{head.hex()}",
        "links": again == entry.digest,
        "data": body["data"],
        "rows": body.get("rows", {}),
    }


def entry_line(entry: Entry, body: dict[str, Any] | None = None) -> dict[str, Any]:
    """`{sequence, kind, position, name, at, actor, digest}`. `actor`: the person or worker named in it, None where none is."""
    return {
        "sequence": entry.sequence, "kind": entry.kind.value, "position": entry.position, "name": entry.name,
        "at": rfc3339(entry.at), "actor": _actor(entry, body), "digest": f"sha256:{entry.digest.hex()}",
    }  # fmt: skip


_WITH_ACTOR = frozenset(
    {
        EntryKind.ANSWER, EntryKind.WITHDRAWN, EntryKind.RESOLVED, EntryKind.INCIDENT_CLOSED, EntryKind.RESUMED,
        EntryKind.CANCEL_ASKED, EntryKind.STARTED, EntryKind.TENDED, EntryKind.SUBMITTED,
        EntryKind.SIGNAL, EntryKind.LOOKED_UP,
    }
)  # fmt: skip


def _actor(entry: Entry, body: dict[str, Any] | None) -> str | None:
    if entry.kind not in _WITH_ACTOR:
        return None
    data: dict[str, Any] = (body or parsed(entry.body))["data"]
    return next((str(data[name]) for name in _ACTORS if data.get(name)), None)
