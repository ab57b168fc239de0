"""Working context over HTTP: documents with a type, and their versions."""

from typing import Annotated

from fastapi import Query
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.document import WorkingDocument, WorkingDocumentShown
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk

router = router_of("documents")

Version = Annotated[int | None, Query(ge=1, le=2**53, description="One version alone.")]


@router.get("/documents", responses=gives(Answer[Page[WorkingDocument]]))
def list_documents(at: AtDesk, cursor: Cursor = None, limit: Limit = 50) -> Response:
    """List documents of the working context, newest first."""
    page = at.documents.list(cursor=opened("documents", cursor), limit=limit)
    return answer("documents list", opaque("documents", page))


@router.get("/documents/{document}", responses=gives(Answer[WorkingDocumentShown]))
def show_document(at: AtDesk, document: Which, version: Version = None) -> Response:
    """Show a document with its versions, the newest first, and the run that wrote each."""
    return answer("documents show", at.documents.show(document, version=version))
