"""Records of one operation for tests: every field has a plain value, a test names only what it is about."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, Seen, When
from counterfoil.model.exchange import Exchange
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord, ReceiptRecord
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.gather import Situation, gather
from counterfoil.rules.recovery import impossibilities, rule

SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
START = 1_000 * HOUR  # when the operation was prepared
KEY = IdempotencyKey(header="Idempotency-Key", retention=timedelta(hours=24))
APPLIED = When(status="2xx").means("applied")
REFUSED = When(status={400, 402, 404}).means("refused")


def find(ask: object, payload: object) -> Seen[Any]:
    raise AssertionError("a rule never calls a lookup")


ASKED = Lookup(
    find,
    consistency="strong",
    visible_within=timedelta(seconds=30),
    arrives_within=timedelta(minutes=5),
    finds_by="key",
)


def contract(**parts: Any) -> Contract:
    return Contract(**{"api_version": "1", "classifier": [APPLIED, REFUSED], **parts})


def operation(**parts: Any) -> OperationRecord:
    base = OperationRecord(
        operation_id="op_1", number=1, version=1, run_id="run_1", generation=0, position="1", name="pay", occurrence=0,
        receiver="bank", environment="test", action="pay", api_version="1", business_key="bank/test/pay/7",
        key_number=0, proposal_version=1, payload="{}", payload_digest="sha256:p", contract_digest="sha256:c", duplicate="costly",
        status=OperationStatus.PREPARED, reason=None, reused_from=None, sent=0, first_sent_at=None, attempts=0,
        key_state=None, in_progress_until=None, withdrawn=None, resolution=None, resolved_at=None, receipt_id=None,
        owner="ops", case_letter=None, case_sentence=None, next_at=None, incident_id=None, incarnation=1,
        prepared_at=START, closed_at=None,
    )  # fmt: skip
    return replace(base, **parts)


def attempt(n: int = 1, **parts: Any) -> AttemptRecord:
    """A lost attempt: begun a minute after the operation, its sender gone five seconds later, no answer."""
    at = parts.pop("at", START + n * MINUTE)
    base = AttemptRecord(
        attempt_id=f"att_{n}", operation_id="op_1", run_id="run_1", n=n, worker_id="wrk_1", host="h", boot_id="b",
        fence=1, key_number=0, idempotency_key="op_1-0", scope="sha256:s", request_digest="sha256:r", review_id="rev_1",
        started_at=at, deadline_at=at + 30 * SECOND, ended_at=None, sender_gone_at=at + 5 * SECOND, sent=1,
        reached="connected", answer_status=None, answer_class=None, answer_at=None, exchange=None, late=0, closed=0,
    )  # fmt: skip
    return replace(base, **parts)


def answered(n: int, status: int, meaning: str, *, replayed: bool | None = None, **parts: Any) -> AttemptRecord:
    """An attempt that got this answer one second after it began."""
    base = attempt(n, **parts)
    kept = Exchange("body", True, status, replayed=replayed).kept()
    at = base.started_at + SECOND
    closed = int(meaning in ("refused", "not_applied"))
    return replace(
        base, ended_at=at, answer_at=at, answer_status=status, answer_class=meaning, exchange=kept, closed=closed
    )


def lookup(result: str, at: int, **parts: Any) -> LookupRecord:
    base = LookupRecord("lkp_1", "op_1", "run_1", 1, at, result, 1, "[]", 99)
    return replace(base, **parts)


def receipt(how: str, at: int) -> ReceiptRecord:
    return ReceiptRecord("rcp_1", "op_1", "run_1", None, how, "re_1", "{}", "sha256:b", "first_result", at)


def review(**parts: Any) -> ReviewRecord:
    base = ReviewRecord(
        review_id="rev_1", number=1, operation_id="op_1", run_id="run_1", proposal_version=1, digest="sha256:p",
        kind="first", state=ReviewState.APPROVED, role="manager", owner="ops", owner_then=None, scope="{}",
        opened_at=START, expires_at=START + 8 * HOUR, reviewer="ana", decided_at=START, comment=None, ask_revision=0,
        used_by=None, void=None, incarnation=1,
    )  # fmt: skip
    return replace(base, **parts)


def installation(**parts: Any) -> InstallationRecord:
    base = InstallationRecord(
        installation_id="ins_1", name="test", single_person=0, marker_accepted=0, incarnation=1, restore_state=None,
        restore_reason=None, restore_at=None, batches=0, rolling=b"", in_flight_batch=0, clock_us=0, created_at=0,
    )  # fmt: skip
    return replace(base, **parts)


def situation(**parts: Any) -> Situation:
    """An operation that needs no review, with nothing sent; an hour after it was prepared."""
    base: dict[str, Any] = {
        "operation": operation(), "contract": contract(key=KEY), "attempts": (), "receipts": (), "lookups": (),
        "review": None, "review_needed": False, "authority_now": True, "incident_open": False, "stop": None,
        "scope_now": "sha256:s", "budget": "left", "restore": installation(), "now": START + HOUR, "run_from": START,
    }  # fmt: skip
    return Situation(**{**base, **parts})


def in_doubt(**parts: Any) -> Situation:
    """The same in flight, after one attempt whose reply was lost."""
    base: dict[str, Any] = {
        "operation": operation(status=OperationStatus.IN_FLIGHT, sent=1, attempts=1), "attempts": (attempt(),)
    }  # fmt: skip
    return situation(**{**base, **parts})


UNKNOWN = operation(status=OperationStatus.UNKNOWN, sent=1)
FLIGHT = operation(status=OperationStatus.IN_FLIGHT, sent=1)
BEGAN = START + MINUTE  # the first attempt
OVER = BEGAN + 30 * SECOND  # its deadline
NO_KEY = contract(lookup=ASKED)
COUNTS = OVER + 5 * MINUTE + 30 * SECOND  # from when absence counts


def letter(whole: Situation) -> str:
    facts = gather(whole)
    assert not [problem.name for problem in impossibilities(facts)]
    return rule(facts)[0].letter


def facts_of(whole: Situation, *names: str) -> tuple[str, ...]:
    facts = gather(whole)
    return tuple(str(getattr(facts, name)) for name in names)


def keyed(**parts: Any) -> Contract:
    return contract(key=IdempotencyKey(**{"header": "K", "retention": timedelta(hours=24), **parts}))
