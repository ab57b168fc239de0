"""DOCUMENT: working context with a type, and its versions. Never a source of truth about the outside world."""

from typing import Any

from counterfoil.app.views.difference import text_difference
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.documents import Place, newest_at
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.document import DocumentScope, DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader


def document_view(reader: Reader, document: TypedDocumentRecord, version: int | None = None) -> dict[str, Any]:
    """`{document_id, number, name, scope, key, conversation, workflow, version, newest, at}`.

    `version` is the one that is meant, by default the newest; `conversation`: the name of the one that it belongs to.
    """
    own = reader.get(ConversationRecord, document.key) if document.scope is DocumentScope.CONVERSATION else None
    return {
        "document_id": document.document_id, "number": document.number, "name": document.name,
        "scope": document.scope.value, "key": document.key, "conversation": None if own is None else own.name,
        "workflow": document.workflow, "version": version or document.version, "newest": document.version,
        "at": rfc3339(document.at),
    }  # fmt: skip


def version_view(reader: Reader, version: DocumentVersionRecord) -> dict[str, Any]:
    """`{version, digest, body, at, turn, written_by}`; `written_by` is `{run_id, number, workflow, request_id, by}`."""
    run = reader.get(RunRecord, version.run_id)
    assert run is not None, "a version is written by a run"
    return {
        "version": version.version, "digest": version.digest, "body": parsed(version.body), "at": rfc3339(version.at),
        "turn": version.turn,
        "written_by": {
            "run_id": run.run_id, "number": run.number, "workflow": run.workflow, "request_id": run.request_id,
            "by": run.submitted_by,
        },
    }  # fmt: skip


def documents_of(reader: Reader, installation_id: str, conversation: ConversationRecord) -> list[dict[str, Any]]:
    """DOCUMENT for each that its next turn would read: the conversation's, those of its agent, and those under its keys.

    A fork's are those of its past, at the version of its fork point, until it has written itself.
    """
    names: dict[str, None] = {}
    at: ConversationRecord | None = conversation
    while at is not None:
        own = reader.find(TypedDocumentRecord, "key", at.conversation_id)
        names |= dict.fromkeys(each.name for each in own if each.scope is DocumentScope.CONVERSATION)
        point = None if at.parent_run_id is None else reader.get(TurnRecord, at.parent_run_id)
        at = None if point is None else reader.get(ConversationRecord, point.conversation_id)
    found: list[dict[str, Any]] = []
    for name in names:
        scope = DocumentScope.CONVERSATION
        place = Place.of(installation_id, scope, conversation.conversation_id, name)
        held_by, version = newest_at(reader, installation_id, place)
        record = reader.get(TypedDocumentRecord, held_by)
        if record is not None and version:
            found.append(document_view(reader, record, version))
    keys = [str(value) for value in parsed(conversation.settings).values() if isinstance(value, str | int)]
    for scope, key in ((DocumentScope.AGENT, conversation.agent), *((DocumentScope.KEY, key) for key in keys)):
        shared = reader.find(TypedDocumentRecord, "key", key)
        found += [document_view(reader, each) for each in shared if each.scope is scope]
    return found


def used_by(reader: Reader, run_id: str, read: list[tuple[str, int]]) -> list[dict[str, Any]]:
    """The versions that a run wrote, then those that it `read` and another run wrote.

    `[{document_id, document, name, scope, version, digest, body, at, newest, before, lines, how}]`; `body` is JSON as text,
    `how` wrote or read.
    """
    wrote = reader.find(DocumentVersionRecord, "run_id", run_id)
    others = [reader.get(DocumentVersionRecord, *key) for key in dict.fromkeys(read)]
    versions = [("wrote", each) for each in wrote]
    versions += [("read", each) for each in others if each is not None and each.run_id != run_id]
    return [_used(reader, how, each) for how, each in versions]


def _used(reader: Reader, how: str, version: DocumentVersionRecord) -> dict[str, Any]:
    document = reader.get(TypedDocumentRecord, version.document_id)
    assert document is not None, "a version belongs to a document"
    before = reader.get(DocumentVersionRecord, version.document_id, version.version - 1) if how == "wrote" else None
    return {
        "document_id": document.document_id, "document": document.number, "name": document.name,
        "scope": document.scope.value, "version": version.version, "digest": version.digest, "body": version.body,
        "at": rfc3339(version.at), "newest": version.version == document.version,
        "before": None if before is None else before.version,
        "lines": [] if before is None else text_difference(before.body, version.body), "how": how,
    }  # fmt: skip
