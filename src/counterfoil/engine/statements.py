"""Verbs of a provider's statement: a line that is one operation is a receipt, and the recovery table rules on it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from counterfoil.engine.acting import acting_reads, check_not_approver, permitted
from counterfoil.engine.advance import Advanced, advanced
from counterfoil.engine.situation import Target, check_version, operation_in
from counterfoil.engine.verb import RunVerb
from counterfoil.model import ids
from counterfoil.model.access import Act
from counterfoil.model.codec import compact, digest_of
from counterfoil.model.journal import EntryKind
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.statement import ImportRecord, StatementLineRecord
from counterfoil.rules.wishes import about_installation
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

IMPORT = about_installation(Act.IMPORT_STATEMENT)


@dataclass(frozen=True, slots=True)
class RecordStatement(RunVerb):
    """One line as evidence about one operation, over the version that was matched. The same line again changes nothing.

    Raises Refused(stale_version), and (own_action) for who approved it: the statement is that person's own choosing.
    """

    target: Target
    file: str
    file_digest: str
    line: int
    reference: str
    minor: int | None
    currency: str | None
    at: int | None
    by: str
    expect_version: int
    boundary: ClassVar[str] = "operation.resolved"
    sends: ClassVar[bool] = True  # it may forbid a send that a restored copy would otherwise make

    def reads(self) -> Sequence[Read]:
        return (*self.target.reads(), *acting_reads(self.by))

    def decide(self, tx: Transaction) -> Advanced:
        operation = operation_in(tx, self.target)
        person = permitted(tx, self.by, IMPORT)
        body = compact(
            {
                "reference": self.reference, "file": self.file, "file_digest": self.file_digest, "line": self.line,
                "minor": self.minor, "currency": self.currency, "at": self.at,
            }
        )  # fmt: skip
        digest = digest_of(body.encode())
        receipt_id = ids.receipt_id(operation.operation_id, "statement", digest)
        if any(r.receipt_id == receipt_id for r in tx.find(ReceiptRecord, "operation_id", operation.operation_id)):
            return advanced(tx, self.target, operation)
        check_version(operation, self.expect_version)
        check_not_approver(tx, person, self.target.operation_id, self.run_id)
        tx.put(
            ReceiptRecord(
                receipt_id, operation.operation_id, self.run_id, None, "statement", self.reference, body, digest, "existence",
                tx.now,
            )
        )  # fmt: skip
        tx.append(
            self.run_id,
            EntryKind.RESOLVED,
            name=operation.name,
            data={
                "operation_id": operation.operation_id,
                "as": "statement",
                "new_key": False,
                "by": self.by,
                "reason": f"line {self.line} of the statement {self.file}",
                "evidence": self.file,
                "evidence_digest": self.file_digest,
                "reference": self.reference,
                "seen_version": self.expect_version,
                "single_person": bool(tx.installation.single_person),
            },
        )
        return advanced(tx, self.target, operation)


@dataclass(frozen=True, slots=True)
class FinishImport(RunVerb):
    """What an import came to, line by line. `run_id` is the installation. The same file again replaces its lines."""

    record: ImportRecord  # its `at` is set here
    lines: tuple[StatementLineRecord, ...]
    boundary: ClassVar[str] = "installation.changed"

    def reads(self) -> Sequence[Read]:
        lines = Read.by(StatementLineRecord, "import_id", self.record.import_id)
        return (Read.key(ImportRecord, self.record.import_id), lines, *acting_reads(self.record.by))

    def decide(self, tx: Transaction) -> ImportRecord:
        permitted(tx, self.record.by, IMPORT)
        before = tx.get(ImportRecord, self.record.import_id)
        known = {line.line: line for line in tx.find(StatementLineRecord, "import_id", self.record.import_id)}
        changed = [line for line in self.lines if known.get(line.line) != line]
        kept = ImportRecord(
            self.record.import_id, self.record.receiver, self.record.name, self.record.file_digest, self.record.by, tx.now,
            self.record.lines, self.record.matched, self.record.resolved,
        )  # fmt: skip
        if before is not None and not changed:
            return before
        for line in changed:
            tx.put(line)
        tx.put(kept)
        tx.append(
            self.run_id, EntryKind.IMPORTED, name=kept.receiver,
            data={
                "import_id": kept.import_id, "file": kept.name, "file_digest": kept.file_digest, "by": kept.by,
                "lines": kept.lines, "matched": kept.matched, "resolved": kept.resolved,
            },
        )  # fmt: skip
        return kept
