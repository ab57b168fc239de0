"""`desk.documents`."""

from typing import Any

from counterfoil.app.desk.sight import CANDIDATES, Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.model.access import Act, RecordKind
from counterfoil.model.document import TypedDocumentRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.permissions import Wish, visible

_VERSION = {"body": RecordKind.WORKING_CONTEXT}


class DeskDocuments:
    """As `app.documents`, of workflows whose runs are seen; a version's body is null where it is not read of its writer."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.documents

    def list(self, *, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [DOCUMENT], next_cursor}`, newest first."""
        with self._sight.look() as look:
            seen = look.filter_workflows
        return self._noun.list(workflows=seen, cursor=cursor, limit=limit)

    def show(self, document: str, *, version: int | None = None) -> dict[str, Any]:
        """DOCUMENT with its versions."""
        with self._sight.look() as look:
            document_id = _seen(look, document)
        shown = self._noun.show(document_id, version=version)
        with self._sight.look() as look:
            return shown | {"versions": [_withheld(look, each) for each in shown["versions"]]}


def _seen(look: Look, text: str) -> str:
    """The id of the one document that the text names. Raises Refused(not_found, ambiguous_id), over what is seen alone."""
    hits = [hit.id for hit in look.reader.lists.named(text, limit=CANDIDATES) if hit.kind == "document"]
    records = [look.reader.get(TypedDocumentRecord, id_) for id_ in hits]
    found = {each.document_id for each in records if each is not None and visible(look.places, each.workflow, None)}
    if text in found:
        return text  # a whole id, even where it is the start of another
    if len(found) != 1:
        raise Refused("ambiguous_id" if found else "not_found", what="document", id=text)
    return found.pop()


def _withheld(look: Look, version: dict[str, Any]) -> dict[str, Any]:
    """What another workflow wrote under a shared key is read by who reads that workflow's working context."""
    writer = version["written_by"]["workflow"]
    shown = without(version, _VERSION, lambda kind: look.may(Wish(Act.READ, writer, kind=kind)))
    return shown if visible(look.places, writer, None) else shown | {"written_by": None}
