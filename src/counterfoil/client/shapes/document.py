"""Working context with a type. Never a source of truth about the outside world."""

from typing import Any, Literal

from counterfoil.client.shapes.base import WITHHELD, Shape


class WorkingDocument(Shape):
    """A document. `version` is the one that is meant, `newest` the last that there is."""

    document_id: str
    number: int
    name: str
    scope: Literal["run", "conversation", "agent", "key"]
    key: str
    conversation: str | None
    workflow: str
    version: int
    newest: int
    at: str


class WrittenBy(Shape):
    """The run that wrote a version, and who submitted it."""

    run_id: str
    number: int
    workflow: str
    request_id: str
    by: str | None


class DocumentVersion(Shape):
    """One version. `turn`: which turn of its conversation wrote it."""

    version: int
    digest: str
    body: Any
    at: str
    turn: int | None
    written_by: WrittenBy | None
    withheld: list[str] = WITHHELD


class WorkingDocumentShown(WorkingDocument):
    """A document with its versions, the newest first."""

    versions: list[DocumentVersion]
