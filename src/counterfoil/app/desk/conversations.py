"""`desk.conversations`."""

import builtins
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from counterfoil.app.conversations import conversation_of
from counterfoil.app.desk.sight import Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.engine.admission import seen_of
from counterfoil.model.access import Act, RecordKind
from counterfoil.model.conversation import ConversationRecord
from counterfoil.model.errors import Refused
from counterfoil.rules.permissions import Wish, visible
from counterfoil.rules.wishes import about_run

_SAID = (RecordKind.CONVERSATION, RecordKind.DECISIONS)  # what entries hold besides what is said
_KEPT = (*_SAID, RecordKind.WORKING_CONTEXT)  # what a file holds
_TURN: dict[str, RecordKind] = dict.fromkeys(("text", "messages", "note", "revises"), RecordKind.CONVERSATION)
_SENT = {"result": RecordKind.PAYLOADS}


class DeskConversations:
    """As `app.conversations`. What the person may not see is not_found; what was said is null where it is not read."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.conversations

    def list(self, *, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [CONVERSATION], next_cursor}`, newest first, with the agents that the person sees."""
        with self._sight.look() as look:
            seen = look.filter_workflows
        return self._noun.list(workflows=seen, cursor=cursor, limit=limit)

    def show(self, conversation: str, *, before: int | None = None, limit: int = 50) -> dict[str, Any]:
        """CONVERSATION with its transcript. Of a turn that is not read, `text` and `messages` are null."""
        with self._sight.look() as look:
            record = self._seen(look, conversation)
        view = self._noun.show(record.conversation_id, before=before, limit=limit)
        with self._sight.look() as look:
            turns = [_withheld(look, turn) for turn in view["transcript"]["items"]]
        return view | {"transcript": view["transcript"] | {"items": turns}}

    def watch(
        self, conversation: str, *, position: str | None = None, idle: bool = False, seconds: float | None = None
    ) -> AsyncGenerator[dict[str, Any]]:
        """As `app.conversations.watch`, for who reads conversations and decisions of every agent in it."""
        record = self._read(conversation)
        return self._noun.watch(record.conversation_id, position=position, idle=idle, seconds=seconds)

    def export_jsonl(self, conversation: str) -> bytes:
        """As `app.conversations.export_jsonl`, for who reads conversations, decisions and working context of every agent in it."""
        return self._noun.export_jsonl(self._read(conversation, _KEPT).conversation_id)

    def agents(self) -> builtins.list[str]:
        """Those of `app.conversations.agents` that the person may speak with."""
        with self._sight.look() as look:
            return [agent for agent in self._noun.agents() if look.may(Wish(Act.SUBMIT, agent))]

    async def send(
        self, text: str, *, conversation: str, request_id: str, agent: str | None = None, when_busy: str | None = None
    ) -> dict[str, Any]:
        """Accept a message in the person's name."""
        with self._sight.look() as look:
            known = _known(look, conversation)
            if known is not None and not sees_conversation(look, known):
                raise Refused("not_found", what="conversation", id=conversation)
            whose = agent or (None if known is None else known.agent)
            if whose is None:
                raise Refused("not_found", what="conversation", id=conversation)
            look.must(Wish(Act.SUBMIT, whose))
        sent = await self._noun.send(
            text, conversation=conversation, request_id=request_id, agent=whose, when_busy=when_busy,
            by=self._sight.actor,
        )  # fmt: skip
        with self._sight.look() as look:
            run = look.run_of(sent["run_id"])
            return without(sent, _SENT, lambda kind: look.reads_run(kind, run))

    async def fork(self, conversation: str, *, into: str, at: int | None = None) -> dict[str, Any]:
        """Begin another conversation that shares the past up to a turn, in the person's name."""
        return await self._noun.fork(self._may(conversation), into=into, at=at, by=self._sight.actor)

    async def reset(self, conversation: str, *, reason: str = "") -> dict[str, Any]:
        """Let later turns begin with an empty history, in the person's name."""
        return await self._noun.reset(self._may(conversation), reason=reason, by=self._sight.actor)

    async def handoff(self, conversation: str, *, to: str, note: str = "") -> dict[str, Any]:
        """Let later turns be another agent's, in the person's name."""
        conversation_id = self._may(conversation)
        with self._sight.look() as look:
            look.must(Wish(Act.SUBMIT, to))
        return await self._noun.handoff(conversation_id, to=to, note=note, by=self._sight.actor)

    async def compact(self, conversation: str) -> dict[str, Any]:
        """Tell what was said in short, in the person's name."""
        return await self._noun.compact(self._may(conversation), by=self._sight.actor)

    async def revise(self, conversation: str, *, reason: str) -> dict[str, Any]:
        """Ask anew about what was answered last, in the person's name."""
        sent = await self._noun.revise(self._may(conversation), reason=reason, by=self._sight.actor)
        with self._sight.look() as look:
            run = look.run_of(sent["run_id"])
            return without(sent, _SENT, lambda kind: look.reads_run(kind, run))

    async def settings(self, conversation: str, *, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Change settings, in the person's name."""
        return await self._noun.settings(self._may(conversation), changes=changes, by=self._sight.actor)

    async def abort(self, conversation: str, *, reason: str = "", queued: bool = False) -> dict[str, Any]:
        """Cancel the turn at work, in the person's name."""
        with self._sight.look() as look:
            record = self._seen(look, conversation)
            at_work = seen_of(look.reader, record.conversation_id).at_work
            if at_work is not None:
                look.must(about_run(Act.CANCEL, look.run_of(at_work)))
        return await self._noun.abort(record.conversation_id, reason=reason, queued=queued, by=self._sight.actor)

    async def import_jsonl(self, content: bytes, *, name: str | None = None) -> dict[str, Any]:
        """Take in a conversation that took place elsewhere, in the person's name."""
        with self._sight.look() as look:
            look.must(Wish(Act.SUBMIT))  # the file may name any agent
        return await self._noun.import_jsonl(content, name=name, by=self._sight.actor)

    # ------------------------------------------------------------------ what is seen

    def _may(self, conversation: str) -> str:
        with self._sight.look() as look:
            record = self._seen(look, conversation)
            look.must(Wish(Act.SUBMIT, record.agent))
        return record.conversation_id

    def _read(self, conversation: str, kinds: tuple[RecordKind, ...] = _SAID) -> ConversationRecord:
        """The conversation, where each of its turns may be read. Raises Refused(not_found, not_permitted)."""
        with self._sight.look() as look:
            record = self._seen(look, conversation)
        agents = {record.agent} | {turn["agent"] for turn in self._turns(record)}
        with self._sight.look() as look:
            for agent in sorted(agents):
                for kind in kinds:
                    look.must(Wish(Act.READ, agent, kind=kind))
        return record

    def _turns(self, record: ConversationRecord) -> "list[dict[str, Any]]":
        before: int | None = None
        found: list[dict[str, Any]] = []
        while True:
            page = self._noun.show(record.conversation_id, before=before, limit=500)["transcript"]
            found += page["items"]
            before = page["next_cursor"]
            if before is None:
                return found

    def _seen(self, look: Look, conversation: str) -> ConversationRecord:
        record = conversation_of(look.reader, conversation)
        if not sees_conversation(look, record):
            raise Refused("not_found", what="conversation", id=conversation)
        return record


def sees_conversation(look: Look, conversation: ConversationRecord) -> bool:
    """Whoever sees the runs of its agent, or may speak with it."""
    return visible(look.places, conversation.agent, None) or look.may(Wish(Act.SUBMIT, conversation.agent))


def _known(look: Look, conversation: str) -> ConversationRecord | None:
    try:
        return conversation_of(look.reader, conversation)
    except Refused:
        return None


def _withheld(look: Look, turn: dict[str, Any]) -> dict[str, Any]:
    return without(turn, _TURN, lambda kind: look.may(Wish(Act.READ, turn["agent"], kind=kind)))
