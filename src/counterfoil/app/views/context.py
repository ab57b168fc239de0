"""Working context: each version of a document, and what it changed in the one before."""

from collections.abc import Sequence
from typing import Any

from counterfoil.app.views.difference import text_difference
from counterfoil.app.views.moments import rfc3339
from counterfoil.model.conversation import DocumentRecord


def documents_view(documents: Sequence[DocumentRecord]) -> list[dict[str, Any]]:
    """`[{name, version, digest, body, at, newest, before, lines}]` by name, the newest version first; `lines` as `text_difference`."""
    by_name: dict[str, list[DocumentRecord]] = {}
    for document in documents:
        by_name.setdefault(document.name, []).append(document)
    return [
        _version(versions, place)
        for name in sorted(by_name)
        for versions in [sorted(by_name[name], key=lambda document: document.version)]
        for place in reversed(range(len(versions)))
    ]


def _version(versions: Sequence[DocumentRecord], place: int) -> dict[str, Any]:
    document = versions[place]
    before = versions[place - 1] if place else None
    return {
        "name": document.name, "version": document.version, "digest": document.digest, "body": document.body,
        "at": rfc3339(document.at), "newest": place == len(versions) - 1,
        "before": None if before is None else before.version,
        "lines": [] if before is None else text_difference(before.body, document.body),
    }  # fmt: skip
