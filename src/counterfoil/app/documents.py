"""The noun `documents`: working context with a type, and each version of it with the run that wrote it."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.finding import known_id
from counterfoil.app.views.document import document_view, version_view
from counterfoil.app.views.listing import listed
from counterfoil.engine.opened import Opened
from counterfoil.model.document import DocumentVersionRecord, TypedDocumentRecord
from counterfoil.store.port import Workflows


class Documents:
    """`app.documents`. A document is named by its id, a unique start of it, or `doc-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(self, *, workflows: Workflows = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [DOCUMENT], next_cursor}`, newest first. `workflows`: those whose documents may be seen, None for all."""
        with self._opened().read() as reader:
            page = reader.lists.documents(workflows=workflows, before=cursor, limit=limit)
            return listed([document_view(reader, each) for each in page.items], page.next_cursor)

    def show(self, document: str, *, version: int | None = None) -> dict[str, Any]:
        """DOCUMENT with `versions`, the newest first, or that one alone. Raises Refused(not_found, ambiguous_id)."""
        with self._opened().read() as reader:
            record = reader.get(TypedDocumentRecord, known_id(reader, "document", document))
            assert record is not None, "the id was just found in this snapshot"
            found = reader.find(DocumentVersionRecord, "document_id", record.document_id)
            versions = [version_view(reader, each) for each in reversed(found) if version in (None, each.version)]
            return document_view(reader, record) | {"versions": versions}
