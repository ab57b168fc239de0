"""Typed documents of the working context: where one lies, what a run reads of it, and how its next version is written."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.document import Document
from counterfoil.engine.leases import touched
from counterfoil.engine.verb import Deadlines, RunVerb, driven
from counterfoil.model import ids
from counterfoil.model.codec import digest_of, parsed
from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.document import DocumentScope, DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.errors import DocumentMoved
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Read, Snapshot
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class Place:
    """Where a document lies for one run. `turn`: which turn of its conversation the run is, where it is one."""

    document_id: str
    name: str
    scope: DocumentScope
    key: str
    turn: int | None

    @classmethod
    def of(cls, installation_id: str, scope: DocumentScope, key: str, name: str, turn: int | None = None) -> "Place":
        """The place of the document of this name."""
        return cls(ids.document_id(installation_id, scope, key, name), name, scope, key, turn)


def place_of(snapshot: Snapshot, installation_id: str, run: RunRecord, document: Document[Any]) -> Place | None:
    """None for a document under a key where neither the code nor the run's conversation names one.

    A run that is no turn is a conversation of its own.
    """
    turn = snapshot.get(TurnRecord, run.run_id)
    scope, key = document.scope, document.bound
    match scope:
        case DocumentScope.RUN:
            key = run.run_id
        case DocumentScope.CONVERSATION:
            scope, key = (DocumentScope.RUN, run.run_id) if turn is None else (scope, turn.conversation_id)
        case DocumentScope.AGENT:
            key = run.workflow
        case DocumentScope.KEY:
            key = key if key is not None or turn is None else _set_key(snapshot, turn, document.setting)
    if key is None:
        return None
    return Place.of(installation_id, scope, key, document.name, None if turn is None else turn.n)


def _set_key(snapshot: Snapshot, turn: TurnRecord, setting: str | None) -> str | None:
    conversation = snapshot.get(ConversationRecord, turn.conversation_id)
    value = None if conversation is None or setting is None else parsed(conversation.settings).get(setting)
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) else None


def newest_at(snapshot: Snapshot, installation_id: str, place: Place) -> tuple[str, int]:
    """(the document that holds it, version) of what is read there: 0 where nobody has written.

    In a fork that has not written itself it is the version at the fork point, which lies in a conversation before it.
    """
    own = snapshot.get(TypedDocumentRecord, place.document_id)
    if own is not None:
        return own.document_id, own.version
    conversation = snapshot.get(ConversationRecord, place.key) if place.scope is DocumentScope.CONVERSATION else None
    while conversation is not None and conversation.parent_run_id is not None:
        point = snapshot.get(TurnRecord, conversation.parent_run_id)
        if point is None:
            break
        there = ids.document_id(installation_id, place.scope, point.conversation_id, place.name)
        shared = [
            each.version
            for each in snapshot.find(DocumentVersionRecord, "document_id", there)
            if each.turn is not None and each.turn <= point.n
        ]
        if shared:
            return there, max(shared)
        conversation = snapshot.get(ConversationRecord, point.conversation_id)
    return place.document_id, 0


@dataclass(frozen=True, slots=True)
class NoteRead(RunVerb):
    """A run read a version at this position: every replay reads that one. Gives the entry."""

    fence: int
    position: str
    name: str
    data: dict[str, Any]
    deadlines: Deadlines
    boundary: ClassVar[str] = "record.appended"

    def decide(self, tx: Transaction) -> Any:
        tx.put(touched(driven(tx, self.run_id, self.fence), tx.now, self.deadlines))
        return tx.append(self.run_id, EntryKind.DOCUMENT, position=self.position, name=self.name, data=self.data)


@dataclass(frozen=True, slots=True)
class WriteDocument(RunVerb):
    """The next version, where `seen` is still the newest; else the failure that says so. Gives the entry.

    `shared`: the version that a fork has from before its fork point, as long as it has written none itself.
    """

    fence: int
    position: str
    name: str
    place: Place
    seen: int
    shared: int
    body: str
    digest: str  # of the call's input
    deadlines: Deadlines
    boundary: ClassVar[str] = "record.appended"

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(RunRecord, self.run_id), Read.key(TypedDocumentRecord, self.place.document_id),
            Read.key(DocumentVersionRecord, self.place.document_id, self.seen + 1),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> Any:
        run = driven(tx, self.run_id, self.fence)
        tx.put(touched(run, tx.now, self.deadlines))
        place, version = self.place, self.seen + 1
        known = tx.get(TypedDocumentRecord, place.document_id)
        newest = self.shared if known is None else known.version
        if newest != self.seen:
            failure = DocumentMoved(place.name, self.seen, newest).facts()
            return tx.append(
                self.run_id, EntryKind.STEP_FAILED, position=self.position, name=self.name,
                data={"in": self.digest, "failure": failure},
            )  # fmt: skip
        if known is None:
            tx.put(
                TypedDocumentRecord(
                    place.document_id, tx.number("document"), place.name, place.scope, place.key, run.workflow, version,
                    tx.now,
                )
            )  # fmt: skip
        else:
            tx.put(replace(known, version=version, at=tx.now))
        digest = digest_of(self.body.encode())
        tx.put(DocumentVersionRecord(place.document_id, version, digest, self.body, self.run_id, place.turn, tx.now))
        said = {"document_id": place.document_id, "version": version, "digest": digest}
        return tx.append(
            self.run_id, EntryKind.DOCUMENT, position=self.position, name=self.name,
            data={"in": self.digest, "wrote": said},
        )  # fmt: skip
