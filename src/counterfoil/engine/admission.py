"""A message is accepted: its turn, and the run that answers it, in one transaction."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from enum import StrEnum
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.following import queued
from counterfoil.engine.revising import Revision
from counterfoil.engine.submit import Submit, begun_reads
from counterfoil.engine.waking import wake
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, digest_of, parsed
from counterfoil.model.conversation import ConversationRecord, SignalRecord, TurnKind, TurnRecord, message_key
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read, Snapshot
from counterfoil.store.transaction import Transaction

STEER = "steer"  # the signal that a turn at work reads before its next model call


class WhenBusy(StrEnum):
    """What becomes of a message that comes while the newest turn has not ended."""

    REJECT = "reject"
    FOLLOW_UP = "follow_up"  # its turn begins when the turn before it has ended
    STEER = "steer"  # read by the turn at work; when that ends without reading it, as a follow-up


@dataclass(frozen=True, slots=True)
class Seen:
    """A conversation as it was when a message came: its newest turn, the turn at work, and the turn that a new one waits for.

    `known` is the turn that was accepted under the same request id, here or in a conversation of `lineage`, from which this
    one was forked.
    """

    head: str | None = None
    at_work: str | None = None
    before: str | None = None
    known: str | None = None
    lineage: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Admitted:
    """`as_`: new, follow_up, steer or existing. `run_id` is the message's own turn, `into` the turn that a steer is for."""

    as_: str
    run_id: str
    conversation_id: str
    n: int
    into: str | None = None


def seen_of(snapshot: Snapshot, conversation_id: str, request_id: str = "") -> Seen:
    """What an admission of this conversation must read, under this request id."""
    conversation = snapshot.get(ConversationRecord, conversation_id)
    head = None if conversation is None else _head(conversation)
    run = None if head is None else snapshot.get(RunRecord, head)
    before = None if run is None else _before(run)
    while run is not None and run.after_run_id is not None:
        run = snapshot.get(RunRecord, run.after_run_id)
    lineage = tuple(_lineage(snapshot, conversation))
    known = _known(snapshot, (conversation_id, *lineage), request_id) if request_id else None
    return Seen(
        head, None if run is None or run.state.ended else run.run_id, before,
        None if known is None else known.run_id, lineage,
    )  # fmt: skip


def _lineage(snapshot: Snapshot, conversation: ConversationRecord | None) -> Iterator[str]:
    """The conversations that it was forked from, the nearest first: they are what they are for ever."""
    while conversation is not None and conversation.parent_id is not None:
        yield conversation.parent_id
        conversation = snapshot.get(ConversationRecord, conversation.parent_id)


def _known(rows: Snapshot | Transaction, conversations: Sequence[str], request_id: str) -> TurnRecord | None:
    """The turn that was accepted under this id, in the first of these conversations that has one."""
    for conversation_id in conversations:
        for turn in rows.find(TurnRecord, "message_key", message_key(conversation_id, request_id)):
            return turn
    return None


def _head(conversation: ConversationRecord) -> str | None:
    """The newest turn: of a fork without turns its parent's, at which it forked."""
    return conversation.head_run_id or conversation.parent_run_id


def _before(head: RunRecord) -> str | None:
    """What the next turn waits for. A head that was cancelled in the queue is nobody to wait for."""
    return head.after_run_id if head.state.ended else head.run_id


@dataclass(frozen=True, slots=True)
class Admit(Submit):
    """Gives Admitted, or None when the conversation moved on since it was `seen`: then look again.

    Raises Refused: request_conflict, conversation_busy (by `when_busy`), other_agent. A new name begins a conversation.
    """

    conversation: str = ""
    seen: Seen = Seen()
    when_busy: WhenBusy = WhenBusy.REJECT
    kind: TurnKind = TurnKind.MESSAGE
    installation_id: str = ""
    revision: Revision | None = None  # of the newest answer; what was asked for the next message stays asked for
    boundary: ClassVar[str] = "run.submitted"

    @classmethod
    def of(
        cls,
        begun: Submit,
        installation_id: str,
        conversation: str,
        seen: Seen,
        *,
        when_busy: WhenBusy = WhenBusy.REJECT,
        kind: TurnKind = TurnKind.MESSAGE,
        revision: Revision | None = None,
    ) -> "Admit":
        """The admission of a run that `submission` prepared, as a turn of this kind."""
        parts = {field.name: getattr(begun, field.name) for field in fields(begun)}
        return cls(
            **parts,
            conversation=conversation,
            seen=seen,
            when_busy=when_busy,
            kind=kind,
            installation_id=installation_id,
            revision=revision,
        )

    @property
    def conversation_id(self) -> str:
        return ids.conversation_id(self.installation_id, self.conversation)

    @property
    def _conversations(self) -> tuple[str, ...]:
        return self.conversation_id, *self.seen.lineage

    def reads(self) -> Sequence[Read]:
        reads = [*begun_reads(self.run_id, self.parent_run_id), *acting_reads(self.by)]
        reads.append(Read.key(TurnRecord, self.run_id))
        reads.append(Read.key(ConversationRecord, self.conversation_id))
        keys = [message_key(each, self.request_id) for each in self._conversations]
        reads.append(Read.by(TurnRecord, "message_key", *keys))
        around = {self.seen.head, self.seen.at_work, self.seen.before, self.seen.known} - {None}
        reads += [Read.key(RunRecord, run_id) for run_id in sorted(filter(None, around))]
        if self.seen.at_work is not None:
            reads.append(Read.key(SignalRecord, self.seen.at_work, self.run_id))
        return reads

    def decide(self, tx: Transaction) -> Any:
        if self.by is not None:
            permitted(tx, self.by, Wish(Act.SUBMIT, self.workflow))
        known = _known(tx, self._conversations, self.request_id)
        if known is not None and known.run_id != self.run_id:  # of an agent that the conversation had before
            return self._accepted_before(tx, known) if known.run_id == self.seen.known else None
        if self.is_known(tx):
            return self._existing(tx)
        conversation = tx.get(ConversationRecord, self.conversation_id) or self._begun(tx)
        if conversation.agent != self.workflow:
            raise Refused("other_agent", conversation=self.conversation, agent=conversation.agent, given=self.workflow)
        if _head(conversation) != self.seen.head:
            return None
        before = None if self.seen.head is None else _before(tx.must(RunRecord, self.seen.head))
        if before is None:
            return self._accepted(tx, conversation, self.begun(tx), "new")
        return self._while_busy(tx, conversation) if before == self.seen.before else None

    def _accepted_before(self, tx: Transaction, turn: TurnRecord) -> Admitted:
        """Whoever was not answered asks again, and does not know that the conversation was handed over meanwhile."""
        self.refuse_other_content(tx.must(RunRecord, turn.run_id))
        return Admitted("existing", turn.run_id, turn.conversation_id, turn.n, turn.into_run_id)

    def _existing(self, tx: Transaction) -> Admitted:
        turn = tx.get(TurnRecord, self.run_id)
        if turn is None:  # its content names this conversation, so it was submitted past it
            return Admitted("existing", self.run_id, self.conversation_id, 0)
        return Admitted("existing", self.run_id, turn.conversation_id, turn.n, turn.into_run_id)

    def _begun(self, tx: Transaction) -> ConversationRecord:
        new = ConversationRecord(
            self.conversation_id, tx.number("conversation"), self.conversation, self.workflow, None, None, None,
            TurnKind.MESSAGE, 0, "{}", 0, tx.now, self.by,
        )  # fmt: skip
        tx.put(new)
        said = {"did": "began", "conversation_id": new.conversation_id, "agent": new.agent}
        tx.append(
            self.installation_id, EntryKind.CONVERSATION, name=new.name,
            data=said | ({} if self.by is None else {"by": self.by}),
        )  # fmt: skip
        return new

    def _while_busy(self, tx: Transaction, conversation: ConversationRecord) -> Admitted | None:
        if self.seen.at_work is None or self.seen.before is None:
            return None
        at_work, before = tx.must(RunRecord, self.seen.at_work), tx.must(RunRecord, self.seen.before)
        if at_work.state.ended or at_work.after_run_id is not None:
            return None  # it ended meanwhile, and the next turn began
        if self.when_busy is WhenBusy.REJECT:
            raise Refused(
                "conversation_busy", conversation=self.conversation, run_id=at_work.run_id, state=at_work.state.value
            )
        run = queued(self.begun(tx), before, tx.now, parsed(before.budget)["owner"]["within_us"])
        # What comes after a reset or a handoff is not for a turn from before it.
        steers = self.when_busy is WhenBusy.STEER and conversation.next_kind is TurnKind.MESSAGE
        accepted = self._accepted(tx, conversation, run, "steer" if steers else "follow_up")
        if not steers:
            return accepted
        payload = compact({"text": parsed(self.input).get("text", ""), "turn": self.run_id})
        digest = digest_of(f"{STEER}\x1f{payload}".encode())
        tx.put(SignalRecord(at_work.run_id, self.run_id, STEER, payload, digest, tx.now, None))
        wake(tx, at_work.run_id)
        said = {"signal_id": self.run_id} | ({} if self.by is None else {"by": self.by})
        tx.append(at_work.run_id, EntryKind.SIGNAL, name=STEER, data=said)
        return replace(accepted, into=at_work.run_id)

    def _accepted(self, tx: Transaction, conversation: ConversationRecord, run: RunRecord, as_: str) -> Admitted:
        n = conversation.turns + 1
        # A compaction is nobody's message: what was asked for the next one stays asked for.
        own = self.kind is not TurnKind.MESSAGE or self.revision is not None
        kind, following = (self.kind, conversation.next_kind) if own else (conversation.next_kind, TurnKind.MESSAGE)
        tx.put(run)
        note, noted = (None, conversation.next_note) if own else (conversation.next_note, None)
        tx.put(replace(conversation, head_run_id=run.run_id, turns=n, next_kind=following, next_note=noted))
        key = message_key(conversation.conversation_id, self.request_id)
        tx.put(TurnRecord(run.run_id, conversation.conversation_id, n, _head(conversation), kind, None, note, key))
        said: dict[str, Any] = {"conversation": conversation.name, "turn": n, "as": as_}
        said |= {} if self.revision is None else self.revision.said()
        tx.append(self.run_id, EntryKind.SUBMITTED, name=self.workflow, data=self.said() | said)
        return Admitted(as_, run.run_id, conversation.conversation_id, n)
