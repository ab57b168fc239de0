"""Records and tables: one record class is one table, its fields are the columns."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import StrEnum
from operator import attrgetter
from typing import Any, get_type_hints

from counterfoil.model.access import ApprovalKeyRecord, GrantRecord, IdentityRecord, SessionRecord, TokenRecord
from counterfoil.model.budget import BudgetRecord
from counterfoil.model.conversation import (
    TURN_VOLATILE,
    ConversationRecord,
    DocumentRecord,
    MessageRecord,
    SignalRecord,
    TurnRecord,
)
from counterfoil.model.delivery import DELIVERY_VOLATILE, DeliveryRecord, SweepRecord
from counterfoil.model.document import DocumentVersionRecord, TypedDocumentRecord
from counterfoil.model.drill import DrillRecord, WaiverRecord
from counterfoil.model.duty import DutyRecord, NoticeRecord, SampleRecord, SpanRecord, TallyRecord
from counterfoil.model.inbox import CommentRecord, TendingRecord
from counterfoil.model.installation import (
    BusinessKeyRecord,
    ContractRecord,
    HostRecord,
    IncidentRecord,
    InstallationRecord,
    LostRunRecord,
    SuspensionRecord,
    WorkerRecord,
)
from counterfoil.model.journal import Entry
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord
from counterfoil.model.run import RUN_VOLATILE, RunRecord
from counterfoil.model.slots import SlotRecord, TapRecord
from counterfoil.model.statement import ImportRecord, StatementLineRecord

Key = tuple[str | int, ...]
Values = tuple[Any, ...]

KEY_SEPARATOR = "\x1f"  # never part of an id; free text in a key stands before a number, so joining is injective

# What every commit moves in the installation's row: rebuilt from nothing, so not evidence.
INSTALLATION_VOLATILE = frozenset({"batches", "rolling", "in_flight_batch", "clock_us"})


def _getter(names: Sequence[str]) -> Callable[[Any], Values]:
    if len(names) > 1:
        return attrgetter(*names)
    single = attrgetter(names[0])
    return lambda row: (single(row),)


@dataclass(frozen=True, slots=True)
class Table:
    """How one record is stored. Made by `_table`.

    `order` is the order in which rows are given back, `indexes` the columns that `find` takes. `journaled` are the
    columns that are evidence: each change of them stands in the journal, and `verify` rebuilds them from there. `added` are
    columns that came with a migration, with what a row from before has in them: its entries do not know them.
    """

    record: type[Any]
    name: str
    key: tuple[str, ...]
    order: tuple[str, ...]
    indexes: frozenset[str]
    columns: tuple[str, ...]
    journaled: tuple[str, ...]
    added: dict[str, Any]
    enums: tuple[tuple[int, type[StrEnum]], ...]
    values: Callable[[Any], Values]
    key_of: Callable[[Any], Key]
    order_of: Callable[[Any], Values]
    evidence_of: Callable[[Any], Values]

    def row(self, values: Values) -> Any:
        """The record of one row of SQL values."""
        if self.enums:
            changed = list(values)
            for place, kind in self.enums:
                if changed[place] is not None:
                    changed[place] = kind(changed[place])
            return self.record(*changed)
        return self.record(*values)


def _table(
    record: type[Any],
    name: str,
    key: str,
    *,
    order: str = "",
    indexes: str = "",
    volatile: Iterable[str] = (),
    evidence: bool = True,
) -> Table:
    columns = tuple(field.name for field in fields(record))
    hints = get_type_hints(record)
    parts = tuple(key.split())
    sorted_by = tuple((order or key).split())
    journaled = tuple(column for column in columns if column not in volatile) if evidence else ()
    return Table(
        record=record,
        name=name,
        key=parts,
        order=sorted_by,
        indexes=frozenset(indexes.split()),
        columns=columns,
        journaled=journaled,
        added={field.name: field.default for field in fields(record) if field.default is not MISSING},
        enums=tuple(
            (place, hints[column])
            for place, column in enumerate(columns)
            if isinstance(hints[column], type) and issubclass(hints[column], StrEnum)
        ),
        values=_getter(columns),
        key_of=_getter(parts),
        order_of=_getter(sorted_by),
        evidence_of=_getter(journaled) if journaled else lambda row: (),
    )


# In the order in which new rows are written: what is referred to comes first.
ALL: tuple[Table, ...] = (
    _table(InstallationRecord, "installation", "installation_id", volatile=INSTALLATION_VOLATILE),
    _table(PersonRecord, "people", "name", indexes="stand_in_for"),
    _table(ContractRecord, "contracts", "digest"),
    _table(WorkerRecord, "workers", "worker_id", evidence=False),
    _table(SuspensionRecord, "suspensions", "scope"),
    _table(LostRunRecord, "lost_runs", "run_id", evidence=False),
    _table(HostRecord, "hosts", "host_id", evidence=False),
    _table(
        DrillRecord,
        "drills",
        "operation contract_digest workflow workflow_version",
        order="at operation workflow workflow_version contract_digest",
        indexes="operation",
    ),
    _table(WaiverRecord, "waivers", "operation", indexes="operation"),
    _table(
        RunRecord,
        "runs",
        "run_id",
        order="number",
        indexes="parent_run_id worker_id budget_id after_run_id",
        volatile=RUN_VOLATILE,
    ),
    _table(BudgetRecord, "budgets", "budget_id", order="number"),
    _table(OperationRecord, "operations", "operation_id", order="number", indexes="run_id business_key"),
    _table(AttemptRecord, "attempts", "attempt_id", order="operation_id n", indexes="operation_id run_id worker_id"),
    _table(
        ReceiptRecord, "receipts", "receipt_id", order="received_at receipt_id", indexes="operation_id run_id reference"
    ),
    _table(LookupRecord, "lookups", "lookup_id", order="operation_id n", indexes="operation_id run_id"),
    _table(ProposalRecord, "proposals", "proposal_id", order="operation_id version", indexes="operation_id run_id"),
    _table(ReviewRecord, "reviews", "review_id", order="number", indexes="operation_id run_id"),
    _table(AnswerRecord, "answers", "answer_id", order="at answer_id", indexes="review_id run_id"),
    _table(IncidentRecord, "incidents", "incident_id", order="number", indexes="operation_id run_id business_key"),
    _table(BusinessKeyRecord, "business_keys", "business_key occurrence", indexes="business_key operation_id"),
    _table(MessageRecord, "messages", "run_id sequence", indexes="run_id"),
    _table(DocumentRecord, "documents", "run_id name version", indexes="run_id"),
    _table(SignalRecord, "signals", "run_id signal_id", order="at signal_id", indexes="run_id"),
    _table(ConversationRecord, "conversations", "conversation_id", order="number"),
    _table(
        TurnRecord,
        "turns",
        "run_id",
        order="conversation_id n",
        indexes="conversation_id prior_run_id message_key",
        volatile=TURN_VOLATILE,
    ),
    _table(TypedDocumentRecord, "typed_documents", "document_id", order="number", indexes="key"),
    _table(DocumentVersionRecord, "document_versions", "document_id version", indexes="document_id run_id"),
    _table(GrantRecord, "grants", "grant_id", order="granted_at grant_id"),
    _table(TokenRecord, "tokens", "token_id", order="created_at token_id", indexes="person token_hash"),
    _table(IdentityRecord, "identities", "issuer subject", indexes="person"),
    _table(SessionRecord, "sessions", "session_id", order="begun_at session_id", indexes="person", evidence=False),
    _table(ApprovalKeyRecord, "approval_keys", "key_id", order="added_at key_id"),
    _table(TendingRecord, "tending", "subject", indexes="run_id"),
    _table(CommentRecord, "comments", "comment_id", order="at comment_id", indexes="subject run_id"),
    _table(ImportRecord, "imports", "import_id", order="at import_id"),
    _table(StatementLineRecord, "statement_lines", "import_id line", indexes="import_id operation_id", evidence=False),
    _table(
        DeliveryRecord,
        "deliveries",
        "delivery_id",
        order="number",
        indexes="body_digest operation_id",
        volatile=DELIVERY_VOLATILE,
    ),
    _table(SweepRecord, "sweeps", "operation_id", evidence=False),
    _table(DutyRecord, "duties", "name", evidence=False),
    _table(NoticeRecord, "notices", "notice_id", order="made_at notice_id", indexes="subject", evidence=False),
    _table(SampleRecord, "samples", "metric labels at", indexes="metric", evidence=False),
    _table(TallyRecord, "tallies", "metric labels", evidence=False),
    _table(SlotRecord, "slots", "pool holder", indexes="pool", evidence=False),
    _table(TapRecord, "taps", "receiver", evidence=False),
    _table(SpanRecord, "spans", "span_id", order="began_at span_id", indexes="run_id", evidence=False),
)

ENTRIES: Table = _table(Entry, "entries", "run_id sequence", indexes="run_id", evidence=False)

BY_RECORD: dict[type[Any], Table] = {table.record: table for table in (*ALL, ENTRIES)}
BY_NAME: dict[str, Table] = {table.name: table for table in (*ALL, ENTRIES)}


def joined(key: Key) -> str:
    """A key as the journal names it."""
    return key[0] if len(key) == 1 and isinstance(key[0], str) else KEY_SEPARATOR.join(map(str, key))


def plain(value: Any) -> Any:
    """A column's value as JSON holds it: bytes as hex."""
    return value.hex() if isinstance(value, bytes) else value
