"""The artifacts that the record names, and which of them cannot be read any more: `verify` looks at the database only."""

import json
from collections.abc import Iterator
from typing import Any, cast

from counterfoil.app.webhooks.taking import lies_beside
from counterfoil.engine.call_tool import TOOL
from counterfoil.engine.receipts import beside
from counterfoil.model.delivery import DeliveryRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.store.artifacts import ArtifactStore, kept_as
from counterfoil.store.port import Reader


def named_artifacts(reader: Reader) -> list[str]:
    """The digests of sources of proposals, evidence of resolutions, what models were asked and answered, what tools
    returned, and long messages of receivers, each once, in order."""
    sources = (source for row in reader.rows(ProposalRecord) for source in json.loads(row.sources))
    named = {source["digest"] for source in sources}
    named.update(digest for _, entry in reader.journal() for digest in _of_entry(entry))
    named.update(digest for receipt in reader.rows(ReceiptRecord) for digest in _in_receipt(receipt))
    named.update(d.body_digest for d in reader.rows(DeliveryRecord) if '"artifact"' in d.body and lies_beside(d))
    return sorted(named)


def lost_artifacts(store: ArtifactStore, named: list[str]) -> list[str]:
    """Those whose bytes are missing, or are not what the digest says. Reads every file. Raises StorageError."""
    return [digest for digest in named if not _whole(store, digest)]


def _of_entry(entry: Entry) -> Iterator[str]:
    if entry.kind is EntryKind.RESOLVED:
        yield from filter(None, [_data(entry).get("evidence_digest")])
        yield from _returned(_data(entry).get("returned"))
    elif entry.kind is EntryKind.STEP and (entry.name or "").startswith(TOOL):
        yield from _returned(_data(entry).get("out"))
    elif entry.kind in (EntryKind.ASKED, EntryKind.DECISION, EntryKind.FINISHED):
        # What a model was given, what it answered and what an imported turn closed with stand in their entries; what is large
        # is kept beside, and only named there.
        yield from filter(None, map(kept_as, _data(entry).values()))


def _in_receipt(receipt: ReceiptRecord) -> Iterator[str]:
    """A long receipt, or a long return of an undeclared tool, is only named there."""
    if '"artifact"' in receipt.body:
        plain = json.loads(receipt.body)
        yield from filter(None, [beside(plain)])
        yield from _returned(plain.get("returned"))


def _returned(said: Any) -> Iterator[str]:
    """Of what a tool said: `{returned}`, which may only name it."""
    if isinstance(said, dict):
        yield from filter(None, [kept_as(cast("dict[str, Any]", said).get("returned"))])


def _data(entry: Entry) -> dict[str, Any]:
    return json.loads(entry.body)["data"]


def _whole(store: ArtifactStore, digest: str) -> bool:
    try:
        store.read(digest)
    except Refused as refused:
        if refused.code not in ("artifact_missing", "artifact_damaged"):
            raise
        return False
    return True
