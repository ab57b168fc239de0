"""One row of each record, with every kind of value in it."""

from typing import Any

from counterfoil.model.access import ApprovalKeyRecord, GrantRecord, IdentityRecord, SessionRecord, TokenRecord
from counterfoil.model.budget import BudgetRecord, Scope
from counterfoil.model.conversation import (
    ConversationRecord,
    DocumentRecord,
    MessageRecord,
    SignalRecord,
    TurnKind,
    TurnRecord,
)
from counterfoil.model.delivery import DeliveryRecord, SweepRecord
from counterfoil.model.document import DocumentScope, DocumentVersionRecord, TypedDocumentRecord
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
from counterfoil.model.journal import GENESIS
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.proposal import ProposalRecord
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import AnswerRecord, ReviewRecord, ReviewState
from counterfoil.model.run import RunRecord, RunState
from counterfoil.model.slots import SlotRecord, TapRecord
from counterfoil.model.statement import ImportRecord, StatementLineRecord
from counterfoil.rules.signing import key_id_of

DIGEST = "sha256:" + "ab" * 32

INSTALLATION = InstallationRecord(
    installation_id="ins_sample",
    name="Prüfstand",
    single_person=0,
    marker_accepted=0,
    incarnation=1,
    restore_state=None,
    restore_reason=None,
    restore_at=None,
    batches=0,
    rolling=GENESIS,
    in_flight_batch=0,
    clock_us=0,
    created_at=7,
)


def run_named(run_id: str, number: int) -> RunRecord:
    """A running run without entries."""
    return RunRecord(
        run_id=run_id,
        number=number,
        workflow="refund",
        workflow_version=1,
        generation=0,
        request_id=f"request {run_id}",
        input_digest=DIGEST,
        input='{"letter":"zurück, bitte \\u0000"}',
        state=RunState.RUNNING,
        reason=None,
        sentence="A worker drives it now.",
        owner="ana",
        owner_then=None,
        deadline_at=9_000,
        due_at=None,
        heading=None,
        result=None,
        failure=None,
        parent_run_id=None,
        parent_position=None,
        budget="{}",
        failed_tries=0,
        spent_micros=0,
        reserved_micros=0,
        waited_us=0,
        waiting_since=None,
        crashes=0,
        cancel_asked=0,
        created_at=8,
        started_at=None,
        updated_at=8,
        fence=1,
        worker_id="wrk_1",
        lease_until=9_000,
        executing=1,
        sequence=-1,
        head=GENESIS,
    )


def budget_named(budget_id: str, number: int) -> BudgetRecord:
    """A budget that was drawn on, raised, and holds something in reserve."""
    return BudgetRecord(
        budget_id, number, f"refunds {number}", Scope.BUSINESS_DAY, "2026-11-30", '{"name":"ana","then":null,"within_us":1}',
        '{"calls:create_refund":2}', '{"calls:create_refund":4}', '{"attempts":1,"calls:create_refund":2}', '{"attempts":1}', 1, 3,
    )  # fmt: skip


def operation_of(run_id: str, operation_id: str, number: int) -> OperationRecord:
    """A prepared operation."""
    return OperationRecord(
        operation_id=operation_id,
        number=number,
        version=1,
        run_id=run_id,
        generation=0,
        position="0.1",
        name="create_refund",
        occurrence=1,
        receiver="stripe",
        environment="test",
        action="create_refund",
        api_version="1",
        business_key=f"key {operation_id}",
        key_number=0,
        proposal_version=1,
        payload='{"amount":1}',
        payload_digest=DIGEST,
        contract_digest=DIGEST,
        duplicate="costly",
        status=OperationStatus.PREPARED,
        reason=None,
        reused_from=None,
        sent=0,
        first_sent_at=None,
        attempts=0,
        key_state=None,
        in_progress_until=None,
        withdrawn=None,
        resolution=None,
        resolved_at=None,
        receipt_id=None,
        owner="ana",
        case_letter="P",
        case_sentence="Never sent, and everything allows it.",
        next_at=5,
        incident_id=None,
        incarnation=1,
        prepared_at=4,
        closed_at=None,
    )


def attempt_of(operation: OperationRecord, n: int) -> AttemptRecord:
    """A try under way."""
    return AttemptRecord(
        attempt_id=f"att_{operation.operation_id}_{n}",
        operation_id=operation.operation_id,
        run_id=operation.run_id,
        n=n,
        worker_id="wrk_1",
        host="here",
        boot_id="boot",
        fence=1,
        key_number=0,
        idempotency_key="key",
        scope=DIGEST,
        request_digest=DIGEST,
        review_id=None,
        started_at=10,
        deadline_at=20,
        ended_at=None,
        sender_gone_at=None,
        sent=1,
        reached="nothing",
        answer_status=None,
        answer_class=None,
        answer_at=None,
        exchange=None,
        late=0,
        closed=0,
    )


def review_of(operation: OperationRecord, review_id: str, number: int) -> ReviewRecord:
    """An open review."""
    return ReviewRecord(
        review_id=review_id,
        number=number,
        operation_id=operation.operation_id,
        run_id=operation.run_id,
        proposal_version=1,
        digest=DIGEST,
        kind="first",
        state=ReviewState.OPEN,
        role="approver",
        owner="ana",
        owner_then=None,
        scope="{}",
        opened_at=11,
        expires_at=100 - number,
        reviewer=None,
        decided_at=None,
        comment=None,
        ask_revision=0,
        used_by=None,
        void=None,
        incarnation=1,
    )


def incident_of(operation: OperationRecord, incident_id: str, number: int) -> IncidentRecord:
    """An open incident."""
    return IncidentRecord(
        incident_id=incident_id,
        number=number,
        operation_id=operation.operation_id,
        run_id=operation.run_id,
        business_key=operation.business_key,
        what="two records",
        evidence="[]",
        opened_at=12,
        closed_at=None,
        closed_by=None,
        reason=None,
    )


def document_numbered(document_id: str, number: int, workflow: str = "refund") -> TypedDocumentRecord:
    """A document under a key."""
    return TypedDocumentRecord(document_id, number, "preferences", DocumentScope.KEY, "Kundin 👍", workflow, 1, 18)


def conversation_named(conversation_id: str, number: int) -> ConversationRecord:
    """A conversation with the agent `refund`, without turns."""
    return ConversationRecord(
        conversation_id=conversation_id,
        number=number,
        name=f"customer {number} 👍",
        agent="refund",
        parent_id=None,
        parent_run_id=None,
        head_run_id=None,
        next_kind=TurnKind.MESSAGE,
        turns=0,
        settings="{}",
        settings_version=0,
        created_at=20,
        created_by=None,
    )


def delivered_of(operation: OperationRecord) -> tuple[DeliveryRecord, SweepRecord]:
    """A message about an operation, and a sweep of it."""
    told = ("stripe", "evt_1", "refund.failed", "{}", DIGEST, 33, operation.operation_id, "rcp_1", None, None, None)
    return DeliveryRecord("dlv_1", 1, *told), SweepRecord(operation.operation_id, "stripe", "create_refund", 33, 34)


def one_of_each(run_id: str) -> list[Any]:
    """A row of every table besides installation and runs, in an order that references allow."""
    operation = operation_of(run_id, "op_each", 1)
    return [
        PersonRecord("ana", '["approver"]', "scrypt", None, 1, None),
        ContractRecord(DIGEST, '{"action":"create_refund"}'),
        WorkerRecord("wrk_1", "here", "boot", 42, "{}", 1, 2, 0, None),
        SuspensionRecord("receiver:stripe", "they asked", "ana", 3, None, None),
        LostRunRecord("run_lost", 4),
        HostRecord("host_1", "here", "m1", 1, 5, "host_2", 6),
        DrillRecord("create_refund", DIGEST, "refund", 1, "app:refund", DIGEST, 7, 40, 30, 9, 1, None, 3),
        WaiverRecord("create_refund", "until Monday", "ana", 3, 9, None, None),
        budget_named("bud_1", 1),
        operation,
        attempt_of(operation, 1),
        ReceiptRecord("rcp_1", operation.operation_id, run_id, None, "reply", "re_1", "{}", DIGEST, "first_result", 13),
        LookupRecord("lkp_1", operation.operation_id, run_id, 1, 14, "absent", 1, "[]", 1),
        ProposalRecord("prop_1", operation.operation_id, run_id, 1, "{}", DIGEST, "[]", "0.1", 15),
        review_of(operation, "rev_1", 1),
        AnswerRecord("ans_1", "rev_1", run_id, "ana", "approve", DIGEST, "gut so 👍", 0, 16, "earlier"),
        incident_of(operation, "inc_1", 1),
        BusinessKeyRecord("stripe/test/create_refund/4711", operation.operation_id, DIGEST, 1, None),
        MessageRecord(run_id, 0, "user", "Bitte\nzurück", 17),
        DocumentRecord(run_id, "preferences", 1, DIGEST, "{}", 18),
        SignalRecord(run_id, "sig_1", "paid", "{}", DIGEST, 19, None),
        conversation_named("conv_1", 1),
        TurnRecord(run_id, "conv_1", 1, None, TurnKind.RESET, None, "note", "conv_1\x1fr 1"),
        document_numbered("doc_1", 1),
        DocumentVersionRecord("doc_1", 1, DIGEST, "{}", run_id, 1, 18),
        GrantRecord("grt_1", "manager", "answer", "refund", None, None, 50_000, "EUR", "ana", 20, None),
        TokenRecord("tok_1", "ana", "build", "sha256", "{}", 21, 22, None),
        IdentityRecord("https://id.example", "4711", "ana", 23),
        SessionRecord("ses_1", "ana", "token", 24, 25, 26, None, "tok_1"),
        ApprovalKeyRecord(key_id_of("00ff"), "00ff", "ana", 27, None),
        TendingRecord("rev_1", run_id, "ana", 28, 29, 29, "ana", "bank holiday", None, None),
        CommentRecord("com_1", "rev_1", run_id, "ana", "sieht gut aus 👍", 30),
        ImportRecord("imp_1", "stripe", "may.csv", DIGEST, "ana", 31, 1, 1, 0),
        StatementLineRecord("imp_1", 1, "re_1", 1250, "EUR", 32, operation.operation_id, "matched"),
        *delivered_of(operation),
        DutyRecord("expiry", "wrk_1", 33, 34, 35, None, 36, 0),
        NoticeRecord("ntc_1", "rev_1", 36, run_id, "entered", "ana", "apprise", "{}", 37, 38, 1, None, "refused"),
        SampleRecord("operations_unresolved", "{}", 39, 2.5),
        SpanRecord("spn_1", "recovery", "crash", run_id, 40, None),
        TallyRecord("steps_total", "{}", 41.0),
        SlotRecord("receiver:crm", "att_1", run_id, 42),
        TapRecord("crm", 43, None, 429, 2, "answered 503", 1, 44, "att_1", 45, 46, "ana", "they move"),
    ]
