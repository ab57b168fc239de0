"""`client.documents`: the working context that runs share."""

from collections.abc import AsyncIterator

from counterfoil.client.calls import Calls, each_of, part
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.document import WorkingDocument, WorkingDocumentShown


class ClientDocuments:
    """A document is named by its id, a unique start of it, or `doc-3`."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self, *, cursor: str | None = None, limit: int = 50) -> Page[WorkingDocument]:
        """One part of the list, newest first."""
        return await self._calls.read("/documents", Page[WorkingDocument], cursor=cursor, limit=limit)

    def each(self) -> AsyncIterator[WorkingDocument]:
        """All of the list, part by part."""
        return each_of(self._calls, "/documents", Page[WorkingDocument])

    async def show(self, document: str, *, version: int | None = None) -> WorkingDocumentShown:
        """A document with its versions, or one of them alone."""
        return await self._calls.read(f"/documents/{part(document)}", WorkingDocumentShown, version=version)
