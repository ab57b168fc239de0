"""`desk.find`: what a text may mean, among what the person sees."""

from typing import Any

from counterfoil.app.desk.conversations import sees_conversation
from counterfoil.app.desk.sight import EVERYWHERE, Look, Sight
from counterfoil.model.access import Act, RecordKind
from counterfoil.model.conversation import ConversationRecord
from counterfoil.model.document import TypedDocumentRecord
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.rules.permissions import visible
from counterfoil.rules.wishes import about_installation

# What a text was found in, where that is a record of a kind: who may not read it must not learn that a guess was right.
_STANDS_IN = {"reference": RecordKind.RECEIPTS, "target": RecordKind.PAYLOADS}
WIDE = 200  # hits that are looked through for those that the person sees


def find(sight: Sight, text: str, limit: int) -> dict[str, Any]:
    """`{items, next_cursor: None}`, as `app.find`."""
    with sight.look() as look:
        everything = EVERYWHERE in look.places
    found = sight.app.find(text, limit=limit if everything else WIDE)
    with sight.look() as look:
        items = [hit for hit in found["items"] if _sees(look, hit)]
    return found | {"items": items[:limit]}


def _sees(look: Look, hit: dict[str, Any]) -> bool:
    if hit["kind"] in _OF_WORKFLOW:
        return _OF_WORKFLOW[hit["kind"]](look, hit["id"])
    if hit["run_id"] is None:  # a worker, a person
        return EVERYWHERE in look.places or look.may(about_installation(Act.ADMINISTER))
    run = look.run_of(hit["run_id"])
    operation_id = _operation_id(look, hit)
    kind = _STANDS_IN.get(hit["matched"])
    if kind is not None and operation_id is not None:
        return look.reads_operation(kind, *look.operation_of(operation_id))
    if look.sees_run(run):
        return True
    return operation_id is not None and look.sees_operation(*look.operation_of(operation_id))


def _sees_conversation(look: Look, id_: str) -> bool:
    record = look.reader.get(ConversationRecord, id_)
    return record is not None and sees_conversation(look, record)


def _sees_document(look: Look, id_: str) -> bool:
    record = look.reader.get(TypedDocumentRecord, id_)
    return record is not None and visible(look.places, record.workflow, None)


_OF_WORKFLOW = {"conversation": _sees_conversation, "document": _sees_document}


def _operation_id(look: Look, hit: dict[str, Any]) -> str | None:
    """The operation that a hit is about; None for what only who sees the whole run is shown."""
    if hit["kind"] == "operation":
        return str(hit["id"])
    record = {"review": ReviewRecord, "incident": IncidentRecord}.get(hit["kind"])
    row = None if record is None else look.reader.get(record, hit["id"])
    return None if row is None else row.operation_id
