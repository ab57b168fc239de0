"""Which line of a statement is which operation. Two that fit are none: only what is certain is recorded by itself."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from counterfoil.model import ids
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.rules.statement_lines import StatementLine

EARLY_US = 5 * 60 * 1_000_000  # how far the provider's clock may be behind ours


@dataclass(frozen=True, slots=True)
class Match:
    """`result`: matched (it agrees with what we know), doubtful (it would close a doubt), contradiction, mismatch, several,
    or theirs_not_ours. `operations`: the one it is, or all that it may be. `why` says what differs."""

    line: StatementLine
    result: str
    operations: tuple[OperationRecord, ...] = ()
    why: str | None = None


def ids_in(reference: str) -> frozenset[str]:
    """Operation ids that a reference may be: our id itself, or a key that was made of it."""
    found = {reference} if reference.startswith("op_") and "-" not in reference else set[str]()
    for form in ids.KeyFormat:
        try:
            operation_id, number = ids.decode_key(reference, form)
            if ids.encode_key(operation_id, number, form) == reference:
                found.add(operation_id)
        except ValueError:
            continue
    return frozenset(found)


def matches(
    lines: Sequence[StatementLine],
    by_reference: Mapping[str, Sequence[OperationRecord]],
    doubts: Iterable[OperationRecord],
    succeeded: Iterable[OperationRecord],
    *,
    within_us: int,
) -> list[Match]:
    """Hold every line against what is ours. `by_reference`: the operations that a reference names; `doubts`: those in doubt.

    A reference decides first. A line whose reference we do not know is compared by amount and time with the doubts that no
    line names; a line without any also with what succeeded, whose reference we know: so it is never taken for a doubt.
    """
    found = {line.line: list(by_reference.get(line.reference or "", ())) for line in lines}
    named = {operation.operation_id for operations in found.values() for operation in operations}
    unnamed = _by_amount(each for each in doubts if each.operation_id not in named)
    known = _by_amount(each for each in succeeded if each.operation_id not in named)
    for line in lines:
        if not found[line.line] and line.minor is not None and line.begin is not None:
            amount = (line.minor, line.currency)
            alike = [*unnamed.get(amount, ()), *(known.get(amount, ()) if line.reference is None else ())]
            found[line.line] = [each for each in alike if _in_time(line, each, within_us)]
    claims: dict[str, int] = {}
    for operations in found.values():
        for operation in operations:
            claims[operation.operation_id] = claims.get(operation.operation_id, 0) + 1
    return [_match(line, found[line.line], claims) for line in lines]


Amounts = dict[tuple[int | None, str | None], list[OperationRecord]]


def _by_amount(operations: Iterable[OperationRecord]) -> Amounts:
    found: Amounts = {}
    for operation in operations:
        if operation.amount_minor is not None:
            found.setdefault((operation.amount_minor, operation.currency), []).append(operation)
    return found


def _in_time(line: StatementLine, operation: OperationRecord, within_us: int) -> bool:
    assert line.begin is not None and line.end is not None, "only a line with a time is compared by it"
    sent = operation.first_sent_at or operation.prepared_at
    return line.end >= sent - EARLY_US and line.begin <= sent + within_us


def _match(line: StatementLine, operations: Sequence[OperationRecord], claims: Mapping[str, int]) -> Match:
    if not operations:
        return Match(line, "theirs_not_ours")
    if len(operations) > 1:
        return Match(line, "several", tuple(operations), "it may be any of them")
    (operation,) = operations
    if claims[operation.operation_id] > 1:
        return Match(line, "several", (operation,), "more than one line is this operation")
    known = operation.amount_minor is not None and line.minor is not None
    if known and (operation.amount_minor, operation.currency) != (line.minor, line.currency):
        ours, theirs = f"{operation.amount_minor} {operation.currency}", f"{line.minor} {line.currency}"
        return Match(line, "mismatch", (operation,), f"ours is {ours}, theirs {theirs} in minor units")
    if operation.status is OperationStatus.SUCCEEDED:
        return Match(line, "matched", (operation,))
    if operation.status is OperationStatus.FAILED or not operation.sent:
        what = "failed" if operation.status is OperationStatus.FAILED else "never sent"
        return Match(line, "contradiction", (operation,), f"ours is {what}")
    return Match(line, "doubtful", (operation,))
