"""A conversation that took place elsewhere: its turns are stored as runs that have ended, and are never run."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.submit import Submit, begun_reads
from counterfoil.engine.verb import Deadlines, RunVerb
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, digest_of, payload_digest
from counterfoil.model.conversation import ConversationRecord, MessageRecord, TurnKind, TurnRecord, message_key
from counterfoil.model.document import DocumentScope, DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord, RunState
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

_NOWHERE: dict[str, Any] = {
    "attempts": 0, "elapsed_us": 0, "spend_micros": 0,
    "owner": {"name": "nobody", "then": None, "within_us": 0},
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class PastEntry:
    """One entry of a past turn. `text`: what was said, of a message."""

    kind: EntryKind
    position: str | None
    name: str | None
    data: dict[str, Any]
    at: int
    text: str | None = None


@dataclass(frozen=True, slots=True)
class PastVersion:
    """A version that a past turn wrote into one of the conversation's documents. `body` is JSON as text."""

    name: str
    version: int
    body: str
    at: int


@dataclass(frozen=True, slots=True)
class PastTurn:
    """One turn as the file tells it. `kind` is message, reset, handoff or compaction.

    `closing`: what its history says behind the last answer, or the artifact that holds it; None where the file does not say.
    """

    kind: TurnKind
    agent: str
    version: int
    text: str
    state: RunState
    result: str | None
    at: int
    entries: tuple[PastEntry, ...]
    documents: tuple[PastVersion, ...] = ()
    note: str | None = None
    request_id: str | None = None
    closing: Any = None


@dataclass(frozen=True, slots=True)
class ImportConversation(RunVerb):
    """Gives new, or existing when this file was imported under this name before. Raises Refused(conversation_exists)."""

    name: str
    digest: str  # of the file
    agent: str
    settings: str
    turns: tuple[PastTurn, ...]
    by: str | None
    boundary: ClassVar[str] = "installation.changed"

    @property
    def conversation_id(self) -> str:
        return ids.conversation_id(self.run_id, self.name)

    def _request(self, n: int) -> str:
        return f"imported {self.digest} turn {n} into {self.name}"

    def _run_id(self, n: int) -> str:
        return ids.run_id(self.run_id, self.turns[n - 1].agent, self._request(n))

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(ConversationRecord, self.conversation_id), *acting_reads(self.by),
            *(read for n in range(1, len(self.turns) + 1) for read in begun_reads(self._run_id(n), None)),
        )  # fmt: skip

    def decide(self, tx: Transaction) -> str:
        if self.by is not None:
            for agent in sorted({self.agent, *(turn.agent for turn in self.turns)}):
                permitted(tx, self.by, Wish(Act.SUBMIT, agent))
        if tx.get(ConversationRecord, self.conversation_id) is not None:
            if tx.get(RunRecord, self._run_id(1)) is not None:
                return "existing"
            raise Refused("conversation_exists", name=self.name)
        head = self._run_id(len(self.turns))
        tx.put(
            ConversationRecord(
                self.conversation_id, tx.number("conversation"), self.name, self.agent, None, None, head,
                TurnKind.MESSAGE, len(self.turns), self.settings, 0, tx.now, self.by,
            )
        )  # fmt: skip
        prior: str | None = None
        keys = self._message_keys()
        for n, (turn, key) in enumerate(zip(self.turns, keys, strict=True), start=1):
            prior = self._past(tx, n, turn, prior, key)
        said = {
            "did": "imported",
            "conversation_id": self.conversation_id,
            "file": self.digest,
            "turns": len(self.turns),
        }
        self._documents(tx)
        tx.append(
            self.run_id, EntryKind.CONVERSATION, name=self.name,
            data=said | ({} if self.by is None else {"by": self.by}),
        )  # fmt: skip
        return "new"

    def _documents(self, tx: Transaction) -> None:
        """Each with the number of its newest version; the versions lie with the turns that wrote them."""
        written = [(turn, version) for turn in self.turns for version in turn.documents]
        newest = {version.name: (turn, version) for turn, version in written}
        for name, (turn, version) in newest.items():
            tx.put(
                TypedDocumentRecord(
                    self._document_id(name), tx.number("document"), name, DocumentScope.CONVERSATION,
                    self.conversation_id, turn.agent, version.version, version.at,
                )
            )  # fmt: skip

    def _document_id(self, name: str) -> str:
        return ids.document_id(self.run_id, DocumentScope.CONVERSATION, self.conversation_id, name)

    def _message_keys(self) -> list[str | None]:
        """What was said there is said here: sent again under its id, it is the same message. Of two, the first has it."""
        seen: set[str | None] = set()
        keys: list[str | None] = []
        for turn in self.turns:
            said = turn.request_id
            keys.append(None if said is None or said in seen else message_key(self.conversation_id, said))
            seen.add(said)
        return keys

    def _past(self, tx: Transaction, n: int, turn: PastTurn, prior: str | None, key: str | None) -> str:
        run_id = self._run_id(n)
        plain = {"text": turn.text, "conversation": self.name}
        begun = Submit(
            run_id, turn.agent, turn.version, self._request(n), compact(plain), payload_digest(plain, where="input"),
            _NOWHERE, Deadlines(),
        )  # fmt: skip
        tx.put(
            replace(
                begun.begun(tx),
                # Nothing of it is ever taken up again: a turn that failed elsewhere is not one to be retried here.
                state=RunState.COMPLETED if turn.state is RunState.COMPLETED else RunState.CANCELLED,
                sentence=f"It took place elsewhere, and ended {turn.state.value} there.",
                deadline_at=None,
                due_at=None,
                result=turn.result,
            )
        )
        tx.put(TurnRecord(run_id, self.conversation_id, n, prior, turn.kind, None, turn.note, key))
        tx.append(
            run_id, EntryKind.SUBMITTED, name=turn.agent, data=begun.said() | {"imported": self.digest, "at": turn.at}
        )
        for entry in turn.entries:
            stored = tx.append(
                run_id, entry.kind, position=entry.position, name=entry.name,
                data=entry.data | {"imported": True, "at": entry.at},
            )  # fmt: skip
            if entry.text is not None:
                tx.put(MessageRecord(run_id, stored.sequence, entry.data.get("role", "user"), entry.text, entry.at))
        for version in turn.documents:
            tx.seal()  # an entry has a largest size, and each version may be as large as a body
            digest = digest_of(version.body.encode())
            document_id = self._document_id(version.name)
            tx.put(DocumentVersionRecord(document_id, version.version, digest, version.body, run_id, n, version.at))
            wrote = {"document_id": document_id, "version": version.version, "digest": digest}
            tx.append(run_id, EntryKind.DOCUMENT, name=f"write {version.name}", data={"wrote": wrote, "imported": True})
        closing = {} if turn.closing is None else {"closing": turn.closing}
        tx.append(run_id, EntryKind.FINISHED, name=turn.state.value, data={"void": None, "imported": True} | closing)
        tx.seal()
        return run_id
