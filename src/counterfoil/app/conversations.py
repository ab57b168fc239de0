"""The noun `conversations`: what was said to agents, and what a person does about it."""

import builtins
from collections.abc import AsyncGenerator, Callable, Mapping
from typing import Any

from counterfoil.app import conversation_file as file
from counterfoil.app.access.actor import Actor, named
from counterfoil.app.registration import check_owners
from counterfoil.app.revisions import LONGEST_REASON, revision_for
from counterfoil.app.runs import LONGEST_REQUEST_ID
from counterfoil.app.views.conversation import conversation_view, past_of, queue_of, turn_view
from counterfoil.app.views.document import documents_of
from counterfoil.app.views.listing import listed
from counterfoil.app.views.run import run_summary
from counterfoil.app.views.shown import Shown
from counterfoil.app.watching import watched
from counterfoil.engine.admission import Admit, Admitted, WhenBusy, seen_of
from counterfoil.engine.cancelling import cancelling
from counterfoil.engine.conversations import LONGEST_NAME, ChangeSettings, Fork, HandOff, Reset, check_settings
from counterfoil.engine.definitions import Workflow, dumped, loaded, signature_of, takes_turns
from counterfoil.engine.opened import Opened
from counterfoil.engine.revising import Revision
from counterfoil.engine.submission import submission
from counterfoil.model import ids
from counterfoil.model.codec import digest_of, parsed
from counterfoil.model.conversation import ConversationRecord, TurnKind, TurnRecord
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Reader, Workflows


class Conversations:
    """`app.conversations`. A conversation is named by its name, its id, or `conversation-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    # ------------------------------------------------------------------ looking

    def list(self, *, workflows: Workflows = None, cursor: int | None = None, limit: int = 50) -> dict[str, Any]:
        """`{items: [CONVERSATION], next_cursor}`, newest first. `workflows`: the agents that may be seen, None for all."""
        with self._opened().read() as reader:
            page = reader.lists.conversations(workflows=workflows, before=cursor, limit=limit)
            return listed([conversation_view(reader, each) for each in page.items], page.next_cursor)

    def show(self, conversation: str, *, before: int | None = None, limit: int = 50) -> dict[str, Any]:
        """CONVERSATION with `transcript`: `{items: [TURN], next_cursor}`, the newest `limit` turns, oldest first.

        `documents`: DOCUMENT for each that its next turn would read. `before`: turns with a smaller n. A fork shows its
        parent's turns as its own past. Raises Refused(not_found).
        """
        with self._opened().read() as reader:
            record = conversation_of(reader, conversation)
            past = past_of(reader, record, before=before, limit=limit)
            more = bool(past) and past[-1][0].prior_run_id is not None
            turns = [turn_view(reader, turn, run) for turn, run in reversed(past)]
            return conversation_view(reader, record) | {
                "transcript": listed(turns, past[-1][0].n if more else None),
                "documents": documents_of(reader, self._opened().installation_id, record),
            }

    def agents(self) -> builtins.list[str]:
        """Names of what may be spoken with here: agents, and workflows whose input is a Turn."""
        workflows = self._opened().registry.workflows
        return sorted({name for (name, _), each in workflows.items() if takes_turns(each)})

    def watch(
        self, conversation: str, *, position: str | None = None, idle: bool = False, seconds: float | None = None
    ) -> AsyncGenerator[dict[str, Any]]:
        """First `{type: snapshot, position, conversation, turns}`, then `{type: entry, position, run_id, n, sequence, kind,
        name, place, at, data}` of each turn in order, as they are committed, for as long as the caller reads.

        What comes in an earlier turn after the next one began is an entry, too. `{type: partial, provisional: true, position,
        run_id, place, ask, offset, text}` is what a model of this process has answered so far, from character `offset` on; who
        comes late is given it from its beginning. It is never stored, and void unless its decision follows.

        With the `position` of an item the watch goes on right behind it, without a snapshot, also in another process. `idle`: it
        ends when nobody is at work; `seconds`: at the latest then.
        Raises Refused(not_found, usage).
        """
        opened = self._opened()
        with opened.read() as reader:
            conversation_id = conversation_of(reader, conversation).conversation_id
        until = None if seconds is None else opened.clock.now_us() + int(seconds * 1_000_000)
        return watched(opened, conversation_id, position, idle, until)

    # ------------------------------------------------------------------ speaking

    async def send(
        self,
        text: str,
        *,
        conversation: str,
        request_id: str,
        agent: str | None = None,
        when_busy: str | None = None,
        by: Actor | str | None = None,
    ) -> dict[str, Any]:
        """Accept a message: its turn and the run that answers it, at once and for ever. A new name begins a conversation.

        `{admitted, run_id, conversation_id, conversation, turn, into, number, state, reason, sentence, result, next_action}`.
        `admitted`: new, follow_up (its turn waits), steer (for the turn `into`, or a follow-up if that never reads it), or
        existing: the same request id with the same content finds its turn. `when_busy` is reject, follow_up or steer, by
        default the conversation's setting, else reject. `agent` may be left out for a conversation that exists.

        Raises Refused: conversation_busy, request_conflict, other_agent, unknown_workflow, invalid_payload, usage.
        """
        _checked(request_id, "request id", LONGEST_REQUEST_ID)
        _checked(conversation, "conversation's name", LONGEST_NAME)
        opened = self._opened()
        with opened.read() as reader:
            known = _found(reader, conversation)
            newest = agent or (None if known is None else known.agent)
            when = when_busy or ("reject" if known is None else parsed(known.settings).get("when_busy", "reject"))
        if known is None:
            _check_new_name(conversation)
        if newest is None:
            raise Refused("not_found", what="conversation", id=conversation)
        check_settings({"when_busy": when})
        name = conversation if known is None else known.name
        admitted = await admit(opened, agent_of(opened, newest), text, name, request_id, WhenBusy(when), by=named(by))
        return self._accepted(opened, admitted)

    def _accepted(self, opened: Opened, admitted: Admitted) -> dict[str, Any]:
        with opened.read() as reader:
            run = reader.get(RunRecord, admitted.run_id)
            own = reader.get(ConversationRecord, admitted.conversation_id)
            assert run is not None and own is not None, "an admitted message is stored"
            summary = run_summary(Shown.of(opened, reader), run)
        names = ("run_id", "number", "state", "reason", "sentence", "result", "next_action")
        return {name: summary[name] for name in names} | {
            "admitted": admitted.as_, "conversation_id": own.conversation_id, "conversation": own.name,
            "turn": admitted.n, "into": admitted.into,
        }  # fmt: skip

    async def compact(self, conversation: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """Tell what was said in short, by a turn of its own behind those that wait: later turns begin with that. As `send`.

        Asked for twice without a turn between, it is one. What was said stays readable. Raises Refused(not_found).
        """
        opened = self._opened()
        with opened.read() as reader:
            known = conversation_of(reader, conversation)
            head = reader.get(TurnRecord, known.head_run_id or "")
        behind = known.turns - (head is not None and head.kind is TurnKind.COMPACTION)
        request_id = f"compact {known.conversation_id} {behind}"
        workflow = agent_of(opened, known.agent)
        admitted = await admit(
            opened, workflow, "", known.name, request_id, WhenBusy.FOLLOW_UP, by=named(by), kind=TurnKind.COMPACTION
        )
        return self._accepted(opened, admitted)

    async def revise(self, conversation: str, *, reason: str, by: Actor | str | None = None) -> dict[str, Any]:
        """Ask anew about the message that was answered last, with the reason: a turn whose decisions carry `revises`. As `send`.

        Both versions stay. What the earlier one did outside is told to the model; a call that is equal to one of it is held as
        a possible repeat. Asked for again while it is at work, with the same reason, it is the same turn.

        Raises Refused: nothing_to_revise, conversation_busy, not_found, usage.
        """
        _checked(reason, "reason", LONGEST_REASON)
        opened = self._opened()
        with opened.read() as reader:
            known = conversation_of(reader, conversation)
            revision = revision_for(reader, known, reason)
        request_id = f"revise {revision.revises} in {known.conversation_id} {digest_of(reason.encode())[7:19]}"
        workflow = agent_of(opened, known.agent)
        admitted = await admit(
            opened, workflow, revision.text, known.name, request_id, WhenBusy.REJECT, by=named(by), kind=revision
        )
        return self._accepted(opened, admitted)

    def answered_by(self, run_id: str) -> str:
        """The run whose result answers a message: its own turn's, or for a steer that was read the turn that read it."""
        with self._opened().read() as reader:
            turn = reader.get(TurnRecord, run_id)
        return run_id if turn is None or turn.into_run_id is None else turn.into_run_id

    # ------------------------------------------------------------------ between turns

    async def fork(
        self, conversation: str, *, into: str, at: int | None = None, by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Begin the conversation `into`, which shares the past up to turn `at` (None: the newest). CONVERSATION.

        Raises Refused: turn_open, no_such_turn, conversation_exists, not_found.
        """
        _checked(into, "conversation's name", LONGEST_NAME)
        _check_new_name(into)
        opened = self._opened()
        with opened.read() as reader:
            record = conversation_of(reader, conversation)
            past = past_of(reader, record) if at is not None else past_of(reader, record, limit=1)
        turn = next((turn for turn, _ in past if at in (None, turn.n)), None)
        if turn is None:
            raise Refused("no_such_turn", conversation=record.name, turn=at or "yet")
        forked: ConversationRecord = await opened.write(
            Fork(opened.installation_id, record.conversation_id, named(by), into, turn.run_id, turn.n, at is None)
        )
        return self._view(forked.conversation_id)

    async def reset(self, conversation: str, *, reason: str = "", by: Actor | str | None = None) -> dict[str, Any]:
        """Later turns begin with an empty history; what was said stays readable. CONVERSATION."""
        return await self._between(conversation, lambda id_, here: Reset(here, id_, named(by), reason))

    async def handoff(
        self, conversation: str, *, to: str, note: str = "", by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Later turns are the agent's `to`; the history is shared. CONVERSATION. Raises Refused(unknown_workflow)."""
        agent_of(self._opened(), to)
        return await self._between(conversation, lambda id_, here: HandOff(here, id_, named(by), to, note))

    async def settings(
        self, conversation: str, *, changes: Mapping[str, Any], by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Set some settings by name, None takes one away. CONVERSATION. Raises Refused(bad_setting)."""
        return await self._between(conversation, lambda id_, here: ChangeSettings(here, id_, named(by), dict(changes)))

    async def abort(
        self, conversation: str, *, reason: str = "", queued: bool = False, by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Cancel the turn at work, and what it asked of other agents: nothing more is sent, and it ends once nothing is in doubt.

        `{run_id, state, heading, withdrawn: [run_id], kept: [run_id], sentence}`. What is queued is kept and runs next;
        with `queued` it is withdrawn too, the newest first. Raises Refused(nobody_at_work).
        """
        opened = self._opened()
        with opened.read() as reader:
            record = conversation_of(reader, conversation)
            at_work = seen_of(reader, record.conversation_id).at_work
            waiting = [run.run_id for run in queue_of(reader, record)]
            if at_work is None:
                raise Refused("nobody_at_work", conversation=record.name)
            withdrawn = waiting if queued else []
            verbs = [cancelling(reader, run_id, named(by), reason) for run_id in (*withdrawn, at_work)]
        for verb in verbs[:-1]:  # before the turn at work ends, so that none of them begins
            await opened.write(verb)
        run: RunRecord = await opened.write(verbs[-1])
        kept = [] if queued else waiting[::-1]
        return {
            "run_id": at_work, "number": run.number, "state": run.state.value, "heading": run.heading,
            "withdrawn": withdrawn[::-1], "kept": kept, "sentence": _aborted(len(withdrawn), len(kept)),
        }  # fmt: skip

    async def _between(self, conversation: str, verb: Callable[[str, str], Any]) -> dict[str, Any]:
        opened = self._opened()
        with opened.read() as reader:
            conversation_id = conversation_of(reader, conversation).conversation_id
        await opened.write(verb(conversation_id, opened.installation_id))
        return self._view(conversation_id)

    def _view(self, conversation_id: str) -> dict[str, Any]:
        with self._opened().read() as reader:
            return conversation_view(reader, conversation_of(reader, conversation_id))

    # ------------------------------------------------------------------ files

    def export_jsonl(self, conversation: str) -> bytes:
        """The conversation with every turn that has ended, as JSON lines: what `import_jsonl` takes. Raises Refused(not_found)."""
        opened = self._opened()
        with opened.read() as reader:
            return file.exported(opened, reader, conversation_of(reader, conversation))

    async def import_jsonl(
        self, content: bytes, *, name: str | None = None, by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Begin a conversation whose past took place elsewhere: its turns are history, and are never run.

        CONVERSATION with `admitted`: new, or existing when this very file was imported under this name before. `name`: the
        file's own, unless another is given. Raises Refused: malformed_export (with the line; nothing is imported),
        conversation_exists.
        """
        opened = self._opened()
        imported = file.import_of(opened, content, name, named(by))
        _check_new_name(imported.name)
        agent_of(opened, imported.agent)
        admitted: str = await opened.write(imported)
        return self._view(imported.conversation_id) | {"admitted": admitted}


async def admit(
    opened: Opened,
    workflow: Workflow[Any, Any],
    text: str,
    conversation: str,
    request_id: str,
    when_busy: WhenBusy,
    *,
    by: str | None = None,
    kind: TurnKind | Revision = TurnKind.MESSAGE,
) -> Admitted:
    """One message through the writer, looking again as often as the conversation moved on meanwhile."""
    revision, kind = (kind, TurnKind.MESSAGE) if isinstance(kind, Revision) else (None, kind)
    where, adapter = signature_of(workflow.function, skip=1).inputs[0]
    plain = dumped(adapter, loaded(adapter, {"text": text, "conversation": conversation}, where=where), where=where)
    check_owners(opened.registry, opened)
    begun = submission(opened.installation_id, workflow, plain, request_id, opened.deadlines, by=by)
    conversation_id = ids.conversation_id(opened.installation_id, conversation)
    while True:
        with opened.read() as reader:
            seen = seen_of(reader, conversation_id, request_id)
        verb = Admit.of(
            begun, opened.installation_id, conversation, seen, when_busy=when_busy, kind=kind, revision=revision
        )
        admitted: Admitted | None = await opened.write(verb)
        if admitted is not None:
            return admitted


def agent_of(opened: Opened, name: str) -> Workflow[Any, Any]:
    """The newest version of a workflow. Raises Refused(unknown_workflow)."""
    known = sorted({workflow for workflow, _ in opened.registry.workflows if workflow != "ledger"})
    if name not in known:
        raise Refused("unknown_workflow", name=name, known=", ".join(known) or "none")
    return opened.registry.newest(name)


def conversation_of(reader: Reader, text: str) -> ConversationRecord:
    """What a person typed for a conversation. Raises Refused(not_found)."""
    found = _found(reader, text)
    if found is None:
        raise Refused("not_found", what="conversation", id=text)
    return found


def _found(reader: Reader, text: str) -> ConversationRecord | None:
    installation = reader.installation
    here = "" if installation is None else installation.installation_id
    by_name = reader.get(ConversationRecord, ids.conversation_id(here, text))
    if by_name is not None:
        return by_name
    if text.startswith("conv_"):
        return reader.get(ConversationRecord, text)
    number = text.removeprefix("conversation-")
    if number != text and number.isdecimal() and len(number) < 18:
        page = reader.lists.conversations(before=int(number) + 1, limit=1)
        return next((each for each in page.items if each.number == int(number)), None)
    return None


def _checked(text: str, what: str, longest: int) -> None:
    if not text.strip() or len(text) > longest:
        raise Refused("usage", problem=f"a {what} has 1 to {longest} characters")


def _check_new_name(name: str) -> None:
    """A name that reads as a number or an id would hide the conversation that has it."""
    number = name.removeprefix("conversation-")
    if name.startswith("conv_") or (number != name and number.isdecimal()):
        raise Refused("usage", problem=f"{name!r} reads as a conversation's number or id; choose another name")


def _aborted(withdrawn: int, kept: int) -> str:
    queue = f"{kept} queued message(s) are kept, and the oldest begins when it has ended." if kept else ""
    queue = f"{withdrawn} queued message(s) are withdrawn." if withdrawn else queue
    return f"The turn at work is cancelled. {queue or 'Nothing was queued.'}"
