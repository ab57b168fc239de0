"""`desk.turns`: the turns of conversations, as one person may read them."""

from typing import Any

from counterfoil.app.conversations import conversation_of
from counterfoil.app.desk.conversations import sees_conversation
from counterfoil.app.desk.sight import Look, Sight
from counterfoil.app.desk.withheld import without
from counterfoil.app.turns import asked_since, mark_of, newest_in, place_of, turn_in_full, waiting_in
from counterfoil.model.access import RecordKind
from counterfoil.model.conversation import ConversationRecord
from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import visible

_SAID = {"text": RecordKind.CONVERSATION}
_DECIDED = {"usage": RecordKind.DECISIONS, "cost_micros": RecordKind.DECISIONS, "model": RecordKind.DECISIONS}


class DeskTurns:
    """What the person may not see is not_found; records of a kind that is not read are null and withheld."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight

    def items(self, run: str) -> list[dict[str, Any]]:
        """What was said and done in a turn, in order: see `app.views.turn`. Raises Refused(not_found, ambiguous_id)."""
        with self._sight.look() as look:
            record = look.run(run)
        items = turn_in_full(self._sight.app.open(), record.run_id)
        with self._sight.look() as look:
            return [_withheld(look, record, item) for item in items]

    def place(self, run: str) -> dict[str, Any] | None:
        """`{conversation_id, number, name, agent, n, into}` of a run that is a turn of a conversation that the person sees."""
        with self._sight.look() as look:
            found = place_of(look.reader, look.run(run).run_id)
            return found if found is not None and visible(look.places, found["agent"], None) else None

    def newest(self, conversation: str) -> dict[str, Any] | None:
        """`{run_id, number, n, state, reason, sentence, updated_at}` of the newest turn, None before the first."""
        with self._sight.look() as look:
            return newest_in(look.reader, self._seen(look, conversation))

    def waiting(self, conversation: str) -> list[dict[str, Any]]:
        """Messages behind the turn at work, the next one first: `[{run_id, number, text, steer, at}]`; `text` null where not read."""
        with self._sight.look() as look:
            found = waiting_in(look.reader, self._seen(look, conversation))
            return [_withheld(look, look.run_of(each["run_id"]), {"kind": "said"} | each) for each in found]

    def mark(self, conversation: str) -> tuple[str, str | None]:
        """(a mark that changes with what a page of the conversation shows, the run at work). Raises Refused(not_found)."""
        with self._sight.look() as look:
            return mark_of(look.reader, self._seen(look, conversation).conversation_id)

    def asked_since(self, run_id: str, after: int) -> tuple[dict[str, int], int] | None:
        """({position: entry of its newest question}, the newest entry); None for who may not read what a model answers there."""
        with self._sight.look() as look:
            record = look.run_of(run_id)
            if not (look.reads_run(RecordKind.CONVERSATION, record) and look.reads_run(RecordKind.DECISIONS, record)):
                return None
            return asked_since(look.reader, run_id, after)

    def _seen(self, look: Look, conversation: str) -> ConversationRecord:
        record = conversation_of(look.reader, conversation)
        if not sees_conversation(look, record):
            raise Refused("not_found", what="conversation", id=conversation)
        return record


def _withheld(look: Look, run: RunRecord, item: dict[str, Any]) -> dict[str, Any]:
    """What was said is of the conversation, what a model answered a decision, unless it was said to the user as it stands."""

    def reads(kind: RecordKind) -> bool:
        return look.reads_run(kind, run)

    if item["kind"] in ("said", "steer"):
        return without(item, _SAID, reads)
    if item["kind"] != "decision":
        return item
    kind = RecordKind.DECISIONS if item["said_as"] is None else RecordKind.CONVERSATION
    shown = without(item, _DECIDED | {"text": kind}, reads)
    return shown | {"calls": [_call(each, reads) for each in item["calls"]]}


def _call(call: dict[str, Any], reads: Any) -> dict[str, Any]:
    kind = RecordKind.RECEIPTS if call["what"] == "undeclared" else RecordKind.PAYLOADS
    shown = without(call, {"arguments": RecordKind.DECISIONS, "returned": kind, "failed": kind}, reads)
    # What an undeclared tool and an operation are called with is the payload of a write.
    return without(shown, {"arguments": RecordKind.PAYLOADS} if call["operations"] else {}, reads)
