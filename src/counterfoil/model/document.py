"""Working context with a type: documents in a scope, each version kept. Never a source of truth about the outside world."""

from dataclasses import dataclass
from enum import StrEnum


class DocumentScope(StrEnum):
    """Who shares a document."""

    RUN = "run"  # one run alone
    CONVERSATION = "conversation"  # the turns of a conversation; a fork goes on from the version at its fork point
    AGENT = "agent"  # every run of one agent, or of one workflow
    KEY = "key"  # whoever names the same key: a customer, say


@dataclass(frozen=True, slots=True)
class TypedDocumentRecord:
    """One row of `typed_documents`: a document, and the number of its newest version.

    `key` is what it belongs to within its scope: a run's or a conversation's id, a workflow's name, or the user's own key.
    `workflow` is that of the run which began it: who may see that workflow's runs may see the document.
    """

    document_id: str
    number: int
    name: str
    scope: DocumentScope
    key: str
    workflow: str
    version: int
    at: int


@dataclass(frozen=True, slots=True)
class DocumentVersionRecord:
    """One row of `document_versions`. `run_id` wrote it, in the turn `turn` of its conversation where it is one. `body` is JSON."""

    document_id: str
    version: int
    digest: str
    body: str
    run_id: str
    turn: int | None
    at: int
