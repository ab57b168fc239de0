"""The noun `evidence`: the record behind what is shown. Each entry with its place in the chain, time, life, and what may be done."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor
from counterfoil.app.finding import known_id
from counterfoil.app.forbidden import Standpoint, nobody
from counterfoil.app.views.allowed import Weighed, allowed_actions
from counterfoil.app.views.asked import asked_view
from counterfoil.app.views.context import documents_view
from counterfoil.app.views.document import used_by
from counterfoil.app.views.evidence import entry_line, evidence_view
from counterfoil.app.views.exchange import exchange_view
from counterfoil.app.views.life import life_view, moves_after
from counterfoil.app.views.listing import listed
from counterfoil.app.views.question import Asked, question_view
from counterfoil.app.views.shown import Shown
from counterfoil.app.views.timeline import Window, timeline_view
from counterfoil.app.views.window import in_force_view
from counterfoil.app.weighing import situation_now
from counterfoil.engine.marking import marks_of
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import parsed
from counterfoil.model.conversation import DocumentRecord
from counterfoil.model.errors import Refused
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import LookupRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.gather import gather
from counterfoil.rules.situation import is_live
from counterfoil.store.port import Reader


class Evidence:
    """`app.evidence`. Things are named as by their own nouns. Each raises Refused(not_found, ambiguous_id)."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def entries(self, run: str, *, cursor: int | None = None, limit: int = 100) -> dict[str, Any]:
        """`{items: [{sequence, kind, position, name, at, actor, digest}], next_cursor}`, oldest first, after `cursor`."""
        with self._opened().read() as reader:
            record = _run(reader, run)
            found = reader.entries(record.run_id, after=-1 if cursor is None else cursor, limit=limit + 1)
        items = [entry_line(entry) for entry in found[:limit]]
        return listed(items, found[limit - 1].sequence if len(found) > limit else None)

    def newest(self, run: str) -> dict[str, Any]:
        """`{sequence, digest}` of a run's newest entry: what a page that follows it compares with."""
        with self._opened().read() as reader:
            record = _run(reader, run)
        return {"sequence": record.sequence, "digest": f"sha256:{record.head.hex()}"}

    def entry(self, run: str, sequence: int) -> dict[str, Any]:
        """One entry with what was stored, its digest, and the one before it: see `evidence_view`."""
        with self._opened().read() as reader:
            record = _run(reader, run)
            found = reader.entries(record.run_id, after=max(sequence, 0) - 2, limit=3)
        by_sequence = {entry.sequence: entry for entry in found}
        if sequence not in by_sequence:
            raise Refused("not_found", what="entry", id=f"{sequence} of run-{record.number}")
        return evidence_view(by_sequence[sequence], by_sequence.get(sequence - 1))

    def timeline(self, run: str, *, begins_us: int | None = None, ends_us: int | None = None) -> dict[str, Any]:
        """Its execution in time: see `timeline_view`. `begins_us` and `ends_us` look closer at a part."""
        opened = self._opened()
        with opened.read() as reader:
            record = _run(reader, run)
            window = None if begins_us is None or ends_us is None else Window(begins_us, ends_us)
            return timeline_view(
                record, reader.entries(record.run_id), reader.find(AttemptRecord, "run_id", record.run_id),
                reader.find(OperationRecord, "run_id", record.run_id), opened.clock.now_us(), window,
            )  # fmt: skip

    def documents(self, run: str) -> dict[str, Any]:
        """Its working context: each version that it wrote with what that changed, and what others wrote and it read.

        See `documents_view` and, of documents with a type, `used_by`: those have `document`, a number, and `scope`, too.
        """
        with self._opened().read() as reader:
            record = _run(reader, run)
            own = documents_view(reader.find(DocumentRecord, "run_id", record.run_id))
            typed = used_by(reader, record.run_id, _reads(reader, record.run_id))
            plain = {"document_id": None, "document": None, "scope": "run", "how": "wrote"}
            return listed([*(each | plain for each in own), *typed], None)

    def operation(self, operation: str) -> dict[str, Any]:
        """`{life, attempts, in_force, asked}`: its states, each attempt with its exchange, the contract, and every lookup."""
        opened = self._opened()
        with opened.read() as reader:
            record = _operation(reader, operation)
            situation = situation_now(opened, reader, record)
            return {
                "life": life_view(record, reader.entries(record.run_id)),
                "attempts": [
                    exchange_view(attempt)
                    for attempt in reader.find(AttemptRecord, "operation_id", record.operation_id)
                ],
                "in_force": None if situation is None else in_force_view(situation),
                "asked": asked_view(record, reader.find(LookupRecord, "operation_id", record.operation_id)),
            }

    def actions(self, operation: str, *, by: Actor | None = None) -> dict[str, Any]:
        """`{items: [{action, label, allowed, reason, command}]}` for a person; without one, what the records allow."""
        opened = self._opened()
        with opened.read() as reader:
            record = _operation(reader, operation)
            run = reader.get(RunRecord, record.run_id)
            if run is None:
                return listed([], None)
            situation = situation_now(opened, reader, record)
            live = [] if situation is None else [a.deadline_at for a in situation.attempts if is_live(a, situation.now)]
            reviews = reader.find(ReviewRecord, "operation_id", record.operation_id)
            newest = reviews[-1] if reviews else None
            forbids = nobody if by is None else Standpoint(reader, by, run, record, newest).why_not
            weighed = Weighed(
                record, run, reviews,
                reader.find(IncidentRecord, "operation_id", record.operation_id),
                None if situation is None else gather(situation), _can_look(opened, record),
                max(live, default=None), forbids,
            )  # fmt: skip
            return listed(allowed_actions(Shown.of(opened, reader), weighed), None)

    def moved(self, operation: str, since_version: int) -> dict[str, Any]:
        """`{items: [{sequence, kind, ..., columns}]}`: what was recorded of an operation after a version that somebody saw."""
        with self._opened().read() as reader:
            record = _operation(reader, operation)
            return listed(moves_after(record, reader.entries(record.run_id), since_version), None)

    def acts(self, run: str, *, by: Actor) -> dict[str, Any]:
        """`{act: reason}` for resume, raise, retry, cancel and signal: why this person may not, None where it may."""
        with self._opened().read() as reader:
            standpoint = Standpoint(reader, by, _run(reader, run))
            return {act: standpoint.why_not(act) for act in ("resume", "raise", "retry", "cancel", "signal")}

    def question(self, review: str, *, by: Actor | None = None) -> dict[str, Any]:
        """What a reviewer reads besides `reviews.show`: see `question_view`. `forbidden`: why the person may not approve.

        `marks`: the payload fields that the code at hand marks, each as amount or target.
        """
        opened = self._opened()
        with opened.read() as reader:
            record = reader.get(ReviewRecord, known_id(reader, "review", review))
            assert record is not None, "the id was just found in this snapshot"
            operation = reader.get(OperationRecord, record.operation_id)
            run = reader.get(RunRecord, record.run_id)
            if operation is None or run is None:
                raise Refused("not_found", what="operation", id=record.operation_id)
            proposals = [
                p for p in reader.find(ProposalRecord, "run_id", run.run_id) if p.operation_id == record.operation_id
            ]
            asked = Asked(
                record, operation, run, sorted(proposals, key=lambda proposal: proposal.version),
                reader.find(ReviewRecord, "operation_id", record.operation_id),
                reader.find(AnswerRecord, "review_id", record.review_id), reader.entries(run.run_id),
            )  # fmt: skip
            why = None if by is None else Standpoint(reader, by, run, operation, record).why_not("answer")
            return question_view(asked) | {"forbidden": why, "marks": _marks(opened, operation)}


def _marks(opened: Opened, operation: OperationRecord) -> dict[str, str]:
    known = opened.registry.operations.get(operation.name)
    if known is None:
        return {}
    marks = marks_of(known.function)
    return {field: what for field, what in ((marks.amount, "amount"), (marks.target, "target")) if field is not None}


def _can_look(opened: Opened, operation: OperationRecord) -> bool:
    known = opened.registry.operations.get(operation.name)
    lookup = None if known is None else known.contract.lookup
    return lookup is not None and not isinstance(lookup.function, str)


def _reads(reader: Reader, run_id: str) -> list[tuple[str, int]]:
    """(document, version) of each typed document that a run read."""
    entries = [entry for entry in reader.entries(run_id) if entry.kind is EntryKind.DOCUMENT]
    seen = [parsed(entry.body)["data"].get("read") for entry in entries]
    return [(each.get("held_by", each["document_id"]), each["version"]) for each in seen if each]


def _run(reader: Reader, text: str) -> RunRecord:
    record = reader.get(RunRecord, known_id(reader, "run", text))
    assert record is not None, "the id was just found in this snapshot"
    return record


def _operation(reader: Reader, text: str) -> OperationRecord:
    record = reader.get(OperationRecord, known_id(reader, "operation", text))
    assert record is not None, "the id was just found in this snapshot"
    return record
