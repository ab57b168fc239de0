"""A provider's statement: what the receiver says of itself, imported as evidence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ImportRecord:
    """One row of `imports`: one file, kept as an artifact under its digest."""

    import_id: str
    receiver: str
    name: str
    file_digest: str
    by: str
    at: int
    lines: int
    matched: int
    resolved: int


@dataclass(frozen=True, slots=True)
class StatementLineRecord:
    """One row of `statement_lines`. `result` is matched, resolved, theirs_not_ours, mismatch or several. Rebuilt from the file."""

    import_id: str
    line: int
    reference: str | None
    amount_minor: int | None
    currency: str | None
    at: int | None
    operation_id: str | None
    result: str
