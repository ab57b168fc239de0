"""Ask a tool itself what an interrupted call of it did: a function of the application answers, and no person."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

from counterfoil.engine.advance import Advanced
from counterfoil.engine.branches import Wait
from counterfoil.engine.definitions import Operation, loaded, signature_of
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.reconcile import LONGEST_LOOKUP_S
from counterfoil.engine.resolve import Resolution, Resolve
from counterfoil.engine.situation import Target
from counterfoil.engine.verb import RunVerb
from counterfoil.model.codec import compact, is_storable, parsed
from counterfoil.model.errors import Refused
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.budget import FIRST_PAUSE_US, LONGEST_PAUSE_US, pause_before
from counterfoil.rules.recovery import Ask, Kind
from counterfoil.store.port import StorageError
from counterfoil.store.transaction import Transaction

LONGEST_WORD = 2_000  # characters of a reference or a reason
_OVERTAKEN = frozenset({"stale_version", "not_in_doubt", "attempt_live"})  # somebody else has moved it meanwhile


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of the call. `happened`: its reference and what it returned, as JSON; else why it did not happen."""

    happened: bool
    reason: str
    reference: str | None = None
    returned: Any = None


@dataclass(frozen=True, slots=True)
class Inquiry:
    """`function` is its name, for the record. `ask` gives None as long as nobody knows; what it raises counts as that.

    `ask` is given what keeps a long return beside the journal: bytes in, their digest out.
    """

    function: str
    ask: Callable[[Callable[[bytes], Awaitable[str]]], Awaitable[Answer | None]]


@dataclass(frozen=True, slots=True)
class StillUnknown(RunVerb):
    """It was asked, and nobody knows yet. Needs no lease: it records a question."""

    operation_id: str
    name: str
    function: str
    n: int
    problem: str | None
    boundary: ClassVar[str] = "operation.looked_up"

    def decide(self, tx: Transaction) -> Any:
        tx.must(RunRecord, self.run_id)
        data = {"operation_id": self.operation_id, "result": "unknown", "n": self.n, "problem": self.problem}
        data["function"] = self.function
        place = asked_at(self.operation_id)
        return tx.append(self.run_id, EntryKind.LOOKED_UP, position=place, name=self.name, data=data)


@dataclass(frozen=True, slots=True)
class ResolveItself(Resolve):
    """The same where a function of the application answers: what persons may and may not do says nothing of it."""

    def _check_person(self, tx: Transaction, operation: OperationRecord, run: RunRecord) -> None:
        del tx, operation, run


def asked_at(operation_id: str) -> str:
    """The position of its questions in the journal: no call of the code stands there."""
    return f"inquire {operation_id}"


def inquiry_about(operation: Operation[Any, Any], record: OperationRecord) -> Inquiry | None:
    """The question that can be put about this operation; None where it knows nobody who could answer."""
    if operation.inquiry is None:
        return None
    payload = loaded(
        signature_of(operation.function, skip=1).inputs[0][1], parsed(record.payload), where="the stored payload"
    )
    return operation.inquiry(payload, record.operation_id)


def unasked(execution: Execution, operation: Operation[Any, Any], record: OperationRecord) -> bool:
    """Somebody can be asked, and was not yet: what it did may be known in a moment."""
    asked = execution.journal.tries.get(asked_at(record.operation_id), 0)
    return not asked and inquiry_about(operation, record) is not None


@dataclass(frozen=True, slots=True)
class NextQuestion:
    """A question, and when its turn is. `wait` is None when it is now."""

    inquiry: Inquiry
    wait: Wait | None


def next_question(execution: Execution, operation: Operation[Any, Any], advanced: Advanced) -> NextQuestion | None:
    """When to ask; None where only a person is left, at the latest when its owner's time is over."""
    record, ruling = advanced.operation, advanced.ruling
    if ruling.kind is not Kind.ASK_PERSON or ruling.reason != Ask.OUTCOME_UNKNOWN or record.resolution is not None:
        return None
    inquiry = inquiry_about(operation, record)
    if inquiry is None:
        return None
    journal, place, now = execution.journal, asked_at(record.operation_id), execution.opened.clock.now_us()
    asked = journal.tries.get(place, 0)
    if not asked:
        return NextQuestion(inquiry, None)
    since = record.doubt_at or record.first_sent_at or record.prepared_at
    if now >= since + operation.patience_us():
        return None
    at = journal.last_try_at[place] + pause_before(asked, FIRST_PAUSE_US, LONGEST_PAUSE_US)
    if now >= at:
        return NextQuestion(inquiry, None)
    sentence = f"waits to ask {inquiry.function} again what op-{record.number} did"
    return NextQuestion(inquiry, Wait("receiver", record.operation_id, journal.last_try_at[place], at, None, sentence))


def _usable(answer: Answer | None) -> Answer | None:
    """What it says stands in the record for ever. Raises ValueError for what no record can hold: then it has said nothing."""
    if answer is None:
        return None
    texts = {"reference": answer.reference, "reason": answer.reason}
    for name, text in texts.items():
        if name == "reference" and not answer.happened:
            continue
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"its answer cannot be used: the {name} is {text!r:.80}, not a text")
        if not is_storable(text):
            raise ValueError(
                f"its answer cannot be used: the {name} {text!r:.80} has a character that cannot be stored"
            )
        if len(text) > LONGEST_WORD:
            raise ValueError(
                f"its answer cannot be used: the {name} has {len(text)} characters, at most {LONGEST_WORD}"
            )
    return answer


async def _kept(execution: Execution, content: bytes) -> str:
    return (await asyncio.to_thread(execution.opened.artifacts.save, content, name="tool return")).digest


async def ask(execution: Execution, inquiry: Inquiry, record: OperationRecord, target: Target) -> None:
    """One question. Its answer closes the operation; where a person was quicker, it says nothing more."""
    n = execution.journal.tries.get(asked_at(record.operation_id), 0) + 1
    problem, answer = None, None
    limit = asyncio.timeout(LONGEST_LOOKUP_S)
    try:
        async with limit:
            answer = _usable(await inquiry.ask(partial(_kept, execution)))
    except StorageError:
        raise  # this database, and not the function: it is asked again once the disk has room
    except Exception as failed:
        problem = f"no answer within {LONGEST_LOOKUP_S:g} seconds" if limit.expired() else said(failed)
    if answer is None:
        unknown = StillUnknown(record.run_id, record.operation_id, record.name, inquiry.function, n, problem)
        await execution.write(unknown)
        return
    evidence = f"the answer of {inquiry.function}"
    facts = {"function": inquiry.function, "happened": answer.happened, "reason": answer.reason}
    body = compact(facts | {"reference": answer.reference, "returned": answer.returned}).encode()
    kept = await asyncio.to_thread(execution.opened.artifacts.save, body, name=evidence)
    resolution = Resolution(
        as_="succeeded" if answer.happened else "failed", new_key=False, by=inquiry.function, reason=answer.reason,
        evidence=evidence, evidence_digest=kept.digest, reference=answer.reference, expect_version=record.version,
        function=inquiry.function, returned=answer.returned, told=n > 1,
    )  # fmt: skip
    try:
        await execution.write(ResolveItself(record.run_id, target, resolution))
    except Refused as refused:
        if refused.code not in _OVERTAKEN:
            raise
