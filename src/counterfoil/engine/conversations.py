"""What is done to a conversation between its turns. `run_id` is the installation, whose chain tells it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from counterfoil.engine.acting import acting_reads, permitted
from counterfoil.engine.admission import WhenBusy
from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, parsed
from counterfoil.model.conversation import ConversationRecord, TurnKind, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import Wish
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

LONGEST_NAME = 500


@dataclass(frozen=True, slots=True)
class AboutConversation(RunVerb):
    """A verb about one conversation; whoever may speak with its agent may do it. `by`: None for who holds the file."""

    conversation_id: str
    by: str | None
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        return (Read.key(ConversationRecord, self.conversation_id), *acting_reads(self.by))

    def conversation(self, tx: Transaction) -> ConversationRecord:
        """The conversation, for who may speak in it. Raises Refused(not_found, not_permitted)."""
        found = tx.must(ConversationRecord, self.conversation_id)
        self.may(tx, found.agent)
        return found

    def may(self, tx: Transaction, agent: str) -> None:
        if self.by is not None:
            permitted(tx, self.by, Wish(Act.SUBMIT, agent))

    def tell(self, tx: Transaction, name: str, did: str, **said: Any) -> None:
        told = {"did": did, "conversation_id": self.conversation_id} | said
        tx.append(
            self.run_id, EntryKind.CONVERSATION, name=name, data=told | ({} if self.by is None else {"by": self.by})
        )


@dataclass(frozen=True, slots=True)
class Fork(AboutConversation):
    """Begin another conversation that shares the past up to a turn. Gives it.

    Raises Refused: conversation_exists (a repeated fork gives the one there is), turn_open.
    """

    name: str
    at: str  # the run of the turn at the fork point
    n: int  # its number
    newest: bool  # no turn was named: what was asked for the next turn goes along

    def reads(self) -> Sequence[Read]:
        return (
            Read.key(ConversationRecord, self.conversation_id), Read.key(ConversationRecord, self.new_id),
            Read.key(RunRecord, self.at), Read.key(TurnRecord, self.at), Read.by(OperationRecord, "run_id", self.at),
            *acting_reads(self.by),
        )  # fmt: skip

    @property
    def new_id(self) -> str:
        return ids.conversation_id(self.run_id, self.name)

    def decide(self, tx: Transaction) -> ConversationRecord:
        parent = self.conversation(tx)
        known = tx.get(ConversationRecord, self.new_id)
        if known is not None:
            if (known.parent_id, known.parent_run_id) == (parent.conversation_id, self.at):
                return known
            raise Refused("conversation_exists", name=self.name)
        run = tx.must(RunRecord, self.at)
        before_is_open = run.after_run_id is not None  # it was cancelled, or read, while a turn before it is at work
        if (
            not run.state.ended
            or before_is_open
            or any(not o.status.closed for o in tx.find(OperationRecord, "run_id", self.at))
        ):
            # Who goes on from an open operation could mean it again.
            raise Refused("turn_open", turn=self.n, conversation=parent.name, run_id=self.at, state=run.state.value)
        forked = ConversationRecord(
            self.new_id, tx.number("conversation"), self.name, parent.agent, parent.conversation_id, self.at, None,
            parent.next_kind if self.newest else TurnKind.MESSAGE, self.n, parent.settings, 0, tx.now, self.by,
            parent.next_note if self.newest else None,
        )  # fmt: skip
        tx.put(forked)
        self.tell(tx, parent.name, "forked", into=self.name, into_id=self.new_id, at=self.at, turn=self.n)
        return forked


@dataclass(frozen=True, slots=True)
class Reset(AboutConversation):
    """Later turns begin with an empty history. What was said stays readable. A second one before a turn changes nothing."""

    reason: str

    def decide(self, tx: Transaction) -> ConversationRecord:
        conversation = self.conversation(tx)
        if conversation.next_kind is TurnKind.RESET:
            return conversation
        changed = replace(conversation, next_kind=TurnKind.RESET)
        tx.put(changed)
        self.tell(tx, conversation.name, "reset", reason=self.reason)
        return changed


@dataclass(frozen=True, slots=True)
class HandOff(AboutConversation):
    """Later turns are another agent's; the history is shared. `note` is what the new agent is told, and whoever reads why."""

    to: str
    note: str

    def decide(self, tx: Transaction) -> ConversationRecord:
        conversation = self.conversation(tx)
        self.may(tx, self.to)
        if conversation.agent == self.to:
            return conversation
        kind = TurnKind.RESET if conversation.next_kind is TurnKind.RESET else TurnKind.HANDOFF
        changed = replace(conversation, agent=self.to, next_kind=kind, next_note=self.note or None)
        tx.put(changed)
        self.tell(tx, conversation.name, "handed_over", to=self.to, reason=self.note, **{"from": conversation.agent})
        return changed


@dataclass(frozen=True, slots=True)
class ChangeSettings(AboutConversation):
    """Set some settings, by name; None takes one away. Gives the conversation. Raises Refused(bad_setting)."""

    changes: dict[str, Any]

    def decide(self, tx: Transaction) -> ConversationRecord:
        conversation = self.conversation(tx)
        check_settings(self.changes)
        before: dict[str, Any] = parsed(conversation.settings)
        after = {name: value for name, value in (before | self.changes).items() if value is not None}
        if after == before:
            return conversation
        changed = replace(conversation, settings=compact(after), settings_version=conversation.settings_version + 1)
        tx.put(changed)
        self.tell(tx, conversation.name, "set", settings=self.changes, version=changed.settings_version)
        return changed


def check_settings(changes: dict[str, Any]) -> None:
    """Raises Refused(bad_setting). What is not ours is the agent's own and passes."""
    when = changes.get("when_busy")
    if when is not None and when not in set(WhenBusy):
        raise Refused("bad_setting", name="when_busy", value=when, problem=f"it is {', '.join(WhenBusy)}")
    limit = changes.get("compact_after")
    if limit is not None and (type(limit) is not int or limit < 1):
        raise Refused(
            "bad_setting", name="compact_after", value=limit, problem="it is a whole number of tokens above zero"
        )
    model = changes.get("model")
    if model is not None and not (isinstance(model, str) and all(model.partition(":"))):
        raise Refused("bad_setting", name="model", value=model, problem="it is PROVIDER:NAME, as in openai:gpt-5")
