"""`run.document`: the working context of a run. What is read is recorded, so that a replay reads the same version."""

from typing import Any

from pydantic import BaseModel, TypeAdapter

from counterfoil.engine.asked import input_digest
from counterfoil.engine.definitions import dumped, loaded
from counterfoil.engine.document import Document, DocumentVersion
from counterfoil.engine.documents import NoteRead, Place, WriteDocument, newest_at, place_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.waits import PutDocument
from counterfoil.model.codec import BODY_LIMIT, compact, parsed
from counterfoil.model.document import DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.replay import Outcome


async def put(execution: Execution, name: str, body: BaseModel | str) -> None:
    """The next version of a document of this run, without a type."""
    text = body if isinstance(body, str) else compact(body.model_dump(mode="json"))
    digest = input_digest([name, writable(text, "a document")])
    with execution.call(name, digest) as position:
        if await execution.recorded(execution.journal.ended.get(position)) is None:
            run, deadlines = execution.run, execution.opened.deadlines
            data = {"in": digest}
            entry = await execution.owned(
                execution.write(PutDocument(run.run_id, run.fence, position, name, text, deadlines, data))
            )
            execution.noted(entry, data)
            await execution.given(execution.journal.ended[position])


async def read(execution: Execution, document: Document[Any]) -> DocumentVersion[Any]:
    """The newest version. Raises Refused(document_without_key)."""
    found = await read_if_any(execution, document)
    if found is None:
        raise Refused("document_without_key", name=document.name, setting=document.setting or "none is declared")
    return found


async def read_if_any(execution: Execution, document: Document[Any]) -> DocumentVersion[Any] | None:
    """The newest version; None where nobody names a key for it."""
    name = f"read {document.name}"
    digest = input_digest([document.scope.value, document.bound])
    with execution.call(name, digest) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            data = {"in": digest, "read": _seen(execution, document)}
            run = execution.run
            verb = NoteRead(run.run_id, run.fence, position, name, data, execution.opened.deadlines)
            execution.noted(await execution.owned(execution.write(verb)), data)
            outcome = await execution.given(execution.journal.ended[position])
    seen: dict[str, Any] | None = outcome.value["read"]
    return None if seen is None else _version(execution, document, seen)


def _seen(execution: Execution, document: Document[Any]) -> dict[str, Any] | None:
    """What a read records. The default stands in it as it is now: a later one is not what was read."""
    opened = execution.opened
    with opened.read() as reader:
        place = place_of(reader, opened.installation_id, execution.run, document)
        if place is None:
            return None
        held_by, version = newest_at(reader, opened.installation_id, place)
    seen: dict[str, Any] = {"document_id": place.document_id, "version": version}
    if version == 0:
        return seen | {"default": dumped(TypeAdapter(document.type), document.default, where=document.name)}
    return seen if held_by == place.document_id else seen | {"held_by": held_by}


def _version(execution: Execution, document: Document[Any], seen: dict[str, Any]) -> DocumentVersion[Any]:
    if seen["version"] == 0:
        value = seen["default"]
    else:
        with execution.opened.read() as reader:
            row = reader.get(DocumentVersionRecord, seen.get("held_by", seen["document_id"]), seen["version"])
        assert row is not None, "a version that was read is kept"
        value = parsed(row.body)
    where = f"version {seen['version']} of the document {document.name}"
    return DocumentVersion(loaded(TypeAdapter(document.type), value, where=where), seen["version"], seen["document_id"])


async def write(
    execution: Execution, document: Document[Any], value: BaseModel, after: DocumentVersion[Any]
) -> DocumentVersion[Any]:
    """The version behind `after`. Raises DocumentMoved where that is the newest no more, Refused(too_large, unserializable)."""
    body = compact(dumped(TypeAdapter(document.type), value, where=f"the document {document.name}"))
    name = f"write {document.name}"
    digest = input_digest([after.document_id, after.version, writable(body, "a document")])
    with execution.call(name, digest) as position:
        outcome = await execution.recorded(execution.journal.ended.get(position))
        if outcome is None:
            outcome = await execution.given(await _written(execution, position, name, document, after, body, digest))
        if outcome.failure is not None:
            raise execution.failures.recorded(outcome.failure, outcome.sequence)
    return DocumentVersion(value, after.version + 1, after.document_id)


async def _written(
    execution: Execution, position: str, name: str, document: Document[Any], after: DocumentVersion[Any], body: str,
    digest: str,
) -> Outcome:  # fmt: skip
    opened, run = execution.opened, execution.run
    with opened.read() as reader:
        place = _place_read(reader, opened.installation_id, execution, document, after)
        _, shared = newest_at(reader, opened.installation_id, place)
    verb = WriteDocument(
        run.run_id, run.fence, position, name, place, after.version, shared, body, digest, opened.deadlines
    )
    await execution.owned(execution.write(verb))
    execution.catch_up()  # the entry is a version, or the failure that says that it moved
    return execution.journal.ended[position]


def _place_read(
    reader: Any, installation_id: str, execution: Execution, document: Document[Any], after: DocumentVersion[Any]
) -> Place:
    """Where `after` was read: a conversation's setting may name another key by now."""
    known = reader.get(TypedDocumentRecord, after.document_id)
    place = place_of(reader, installation_id, execution.run, document)
    if known is not None:
        turn = None if place is None else place.turn
        return Place(known.document_id, known.name, known.scope, known.key, turn)
    if place is None or place.document_id != after.document_id:
        raise Refused("usage", problem=f"what was read is no version of the document {document.name} under this key")
    return place


def writable(text: str, where: str) -> str:
    """Half a character has no UTF-8 form. Raises Refused(unserializable | too_large)."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as problem:
        raise Refused("unserializable", where=where, problem=str(problem)) from problem
    if size > BODY_LIMIT:
        raise Refused("too_large", what=where.capitalize(), size=size, limit=BODY_LIMIT)
    return text
