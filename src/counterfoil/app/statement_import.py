"""A statement held against our record: which lines are whose, and what of it is recorded as evidence."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from counterfoil.app.operations import target_here
from counterfoil.engine.advance import Advanced
from counterfoil.engine.opened import Opened
from counterfoil.engine.statements import RecordStatement
from counterfoil.model.codec import parsed
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.rules.statement_lines import Statement, StatementLine
from counterfoil.rules.statement_match import Match, ids_in, matches
from counterfoil.store.port import Reader

FAR = 2**62
AT_ONCE = 500  # how many keys one question to the database names


@dataclass(frozen=True, slots=True)
class Imported:
    """Which file it is, and who imports it."""

    file: str
    file_digest: str
    receiver: str
    by: str
    within_us: int
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Result:
    """What a line came to. `shown` is its place in the answer, `stored` in the database; `code` is a refusal's."""

    shown: str
    stored: str
    operations: tuple[OperationRecord, ...]
    why: str | None = None
    code: str | None = None

    @property
    def operation_id(self) -> str | None:
        return self.operations[0].operation_id if len(self.operations) == 1 else None


@dataclass(frozen=True, slots=True)
class Held:
    """Every line with what it came to, and what we hold as succeeded in its time and no line names."""

    results: tuple[tuple[StatementLine, Result], ...]
    ours_not_theirs: tuple[OperationRecord, ...]
    begin: int | None
    end: int | None


async def hold(opened: Opened, statement: Statement, said: Imported) -> Held:
    """Match all lines, record what closes a doubt, and say what differs."""
    # In a thread: many lines take seconds, and the loop may carry a console, and a worker's heartbeat.
    found, ours, by_statement = await asyncio.to_thread(_matched, opened, statement, said)
    results = [(match.line, await _result(opened, match, said, by_statement)) for match in found]
    named = {operation.operation_id for match in found for operation in match.operations}
    begin, end = _time(statement)
    return Held(tuple(results), tuple(o for o in ours if o.operation_id not in named), begin, end)


def _time(statement: Statement) -> tuple[int | None, int | None]:
    begin = min((line.begin for line in statement.lines if line.begin is not None), default=None)
    end = max((line.end for line in statement.lines if line.end is not None), default=None)
    return begin, end


def _matched(
    opened: Opened, statement: Statement, said: Imported
) -> tuple[list[Match], list[OperationRecord], frozenset[str]]:
    """Every line with what fits, what succeeded in the statement's time, and what this very file has closed before."""
    begin, end = _time(statement)
    with opened.read() as reader:
        by_reference = _by_reference(reader, statement.lines, said.receiver)
        doubts = [doubt for doubt in reader.unresolved() if doubt.receiver == said.receiver]
        ours, near = list[OperationRecord](), list[OperationRecord]()
        if begin is not None and end is not None:
            ours = reader.lists.succeeded(said.receiver, begin, end)
            near = reader.lists.succeeded(said.receiver, begin - said.within_us, FAR)  # it may be closed much later
        references = _with_business_keys(by_reference, doubts)
        found = matches(statement.lines, references, doubts, near, within_us=said.within_us)
        return found, ours, _by_statement(reader, found, said)


async def _result(opened: Opened, match: Match, said: Imported, by_statement: frozenset[str]) -> Result:
    if match.result == "matched":
        kind = "resolved" if match.operations[0].operation_id in by_statement else "matched"
        return Result(kind, kind, match.operations)
    if match.result not in ("doubtful", "contradiction"):
        return Result(match.result, match.result, match.operations, match.why)
    against = match.result == "contradiction"
    if said.dry_run:
        kind = "mismatch" if against else "resolved"
        return Result(kind, kind, match.operations, match.why)
    (operation,) = match.operations
    try:
        advanced: Advanced = await opened.write(_verb(opened, operation, match.line, said))
    except Refused as refused:
        stored = "mismatch" if against else "matched"
        return Result(
            "mismatch" if against else "not_resolved", stored, match.operations, refused.message, refused.code
        )
    if against:
        return Result("mismatch", "mismatch", (advanced.operation,), f"{match.why}: {advanced.case.sentence}")
    if advanced.operation.status.closed:
        return Result("resolved", "resolved", (advanced.operation,))
    return Result("not_resolved", "matched", (advanced.operation,), advanced.case.sentence, "not_closed")


def _verb(opened: Opened, operation: OperationRecord, line: StatementLine, said: Imported) -> RecordStatement:
    with opened.read() as reader:
        target = target_here(opened, reader, operation)
    reference = line.reference or f"line {line.line} of {said.file_digest}"
    return RecordStatement(
        operation.run_id, target, said.file, said.file_digest, line.line, reference, line.minor, line.currency, line.begin,
        said.by, operation.version,
    )  # fmt: skip


def _by_reference(
    reader: Reader, lines: Sequence[StatementLine], receiver: str
) -> dict[str, dict[str, OperationRecord]]:
    """The operations of this receiver that each reference names: by a receipt, or by our own id or key in it."""
    references = sorted({line.reference for line in lines if line.reference})
    wanted: dict[str, set[str]] = {reference: set(ids_in(reference)) for reference in references}
    for part in _parts(references):
        for receipt in reader.find(ReceiptRecord, "reference", *part):
            wanted[receipt.reference].add(receipt.operation_id)
    known: dict[str, OperationRecord] = {}
    for operation_id in sorted({each for found in wanted.values() for each in found}):
        operation = reader.get(OperationRecord, operation_id)
        if operation is not None and operation.receiver == receiver and operation.reused_from is None:
            known[operation_id] = operation
    return {
        reference: {each: known[each] for each in sorted(found) if each in known} for reference, found in wanted.items()
    }


def _with_business_keys(
    by_reference: dict[str, dict[str, OperationRecord]], doubts: Iterable[OperationRecord]
) -> dict[str, list[OperationRecord]]:
    """A provider may carry our business key; among doubts that is enough to name one."""
    for doubt in doubts:
        key = (doubt.business_key or "").rpartition("\x1f")[2]
        if key and key in by_reference:
            by_reference[key][doubt.operation_id] = doubt
    return {reference: list(found.values()) for reference, found in by_reference.items()}


def _by_statement(reader: Reader, found: Sequence[Match], said: Imported) -> frozenset[str]:
    """Operations that an earlier import of this very file closed."""
    matched = sorted({m.operations[0].operation_id for m in found if m.result == "matched"})
    return frozenset(
        receipt.operation_id
        for part in _parts(matched)
        for receipt in reader.find(ReceiptRecord, "operation_id", *part)
        if receipt.how == "statement" and parsed(receipt.body).get("file_digest") == said.file_digest
    )


def _parts(values: Sequence[str]) -> Iterable[Sequence[str]]:
    return (values[n : n + AT_ONCE] for n in range(0, len(values), AT_ONCE))
