"""The artifacts that the record names, and which of them cannot be read any more: `verify` looks at the database only."""

import json
from collections.abc import Iterator
from typing import Any

from counterfoil.model.errors import Refused
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.proposal import ProposalRecord
from counterfoil.store.artifacts import ArtifactStore, kept_as
from counterfoil.store.port import Reader


def named_artifacts(reader: Reader) -> list[str]:
    """The digests of sources of proposals, evidence of resolutions and inputs of models, each once, in order."""
    sources = (source for row in reader.rows(ProposalRecord) for source in json.loads(row.sources))
    named = {source["digest"] for source in sources}
    named.update(digest for _, entry in reader.journal() for digest in _of_entry(entry))
    return sorted(named)


def lost_artifacts(store: ArtifactStore, named: list[str]) -> list[str]:
    """Those whose bytes are missing, or are not what the digest says. Reads every file. Raises StorageError."""
    return [digest for digest in named if not _whole(store, digest)]


def _of_entry(entry: Entry) -> Iterator[str]:
    if entry.kind is EntryKind.RESOLVED:
        yield from filter(None, [_data(entry).get("evidence_digest")])
    elif entry.kind in (EntryKind.ASKED, EntryKind.DECISION):
        # What a model was given and what it answered stand in their entries; a large one is kept beside, and only named there.
        yield from filter(None, map(kept_as, _data(entry).values()))


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
