"""What happens to an operation in doubt under a contract. The recovery table is asked; nothing is decided here."""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from counterfoil.model.contract import Contract
from counterfoil.model.exchange import Exchange
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord, OperationStatus
from counterfoil.model.receipt import LookupRecord
from counterfoil.rules.absence import hidden_for
from counterfoil.rules.classify import classify
from counterfoil.rules.gather import Situation, gather
from counterfoil.rules.key_window import microseconds, repeat_until
from counterfoil.rules.recovery import rule

_MINUTE = 60_000_000
_DAY = 24 * 60 * _MINUTE
_BEGAN = 1_000 * _DAY
_SOON = _BEGAN + _MINUTE  # the reply is lost, the attempt's deadline over, and its sender proven gone


@dataclass(frozen=True, slots=True)
class Stage:
    """What the table rules at one moment of a doubt: `case` is its letter, `ruling` and `sentence` the table's own."""

    moment: str
    case: str
    ruling: str
    sentence: str

    @property
    def step(self) -> str:
        """`moment: ruling`, as a file of the catalogue writes it."""
        return f"{self.moment}: {self.ruling}"


def plan_of(contract: Contract) -> list[Stage]:
    """The stages of a doubt: a lost reply, an answer 500, the key's window over, and a receiver that does not have it."""
    lost = _doubt(contract)
    stages = [_stage("lost reply", lost), _stage("answer 500", _answered(contract, 500))]
    later = replace(lost, now=_later(lost))
    if repeat_until(lost) is not None and contract.key is not None and contract.key.retention != timedelta.max:
        stages.append(_stage("window over", later))
    if contract.lookup is not None:
        stages.append(_stage("not found", _not_found(later)))
    return stages


def _stage(moment: str, situation: Situation) -> Stage:
    case, _ = rule(gather(situation))
    return Stage(moment, case.letter, case.ruling, case.sentence)


def _later(situation: Situation) -> int:
    """After the window where there is one, and after every time in which an effect could hide."""
    until = repeat_until(situation) or 0
    return max(until if until < 100 * 365 * _DAY else 0, situation.now) + hidden_for(situation.contract) + _DAY


def _answered(contract: Contract, status: int) -> Situation:
    exchange = Exchange("body", True, status, {}, b"{}")
    meaning = classify(contract, exchange)
    lost = _doubt(contract)
    answered = replace(
        lost.attempts[0],
        answer_status=status,
        answer_class=meaning.value,
        answer_at=_BEGAN + 1,
        ended_at=_BEGAN + 1,
        exchange=exchange.kept(),
    )
    return replace(lost, attempts=(answered,))


def _not_found(situation: Situation) -> Situation:
    asked = LookupRecord("lkp", "op", "run", 1, situation.now, "absent", 1, "[]", 1)
    return replace(situation, lookups=(asked,), now=situation.now + 1)


def _doubt(contract: Contract) -> Situation:
    operation = OperationRecord(
        operation_id="op", number=1, version=1, run_id="run", generation=0, position="1", name="plan", occurrence=0,
        receiver="r", environment="test", action="plan", api_version=contract.api_version, duplicate=contract.duplicate,
        business_key=None, key_number=0, proposal_version=1, payload="{}", payload_digest="", contract_digest="",
        status=OperationStatus.IN_FLIGHT, reason=None, reused_from=None, sent=1, first_sent_at=_BEGAN, attempts=1,
        key_state=None, in_progress_until=None, withdrawn=None, resolution=None, resolved_at=None, receipt_id=None,
        owner="o", case_letter=None, case_sentence=None, next_at=None, incident_id=None, incarnation=1,
        prepared_at=_BEGAN, closed_at=None,
    )  # fmt: skip
    attempt = AttemptRecord(
        attempt_id="att", operation_id="op", run_id="run", n=1, worker_id="w", host="h", boot_id="b", fence=1,
        key_number=0, idempotency_key="k", scope="s", request_digest="d", review_id=None, started_at=_BEGAN,
        deadline_at=_BEGAN + microseconds(contract.request_timeout), ended_at=None, sender_gone_at=_BEGAN + 1, sent=1,
        reached="request", answer_status=None, answer_class=None, answer_at=None, exchange=None, late=0, closed=0,
    )  # fmt: skip
    installation = InstallationRecord(
        installation_id="ins", name="plan", single_person=0, marker_accepted=0, incarnation=1, restore_state=None,
        restore_reason=None, restore_at=None, batches=0, rolling=b"", in_flight_batch=0, clock_us=0, created_at=0,
    )  # fmt: skip
    after = max(_SOON, _BEGAN + microseconds(contract.request_timeout) + 1)
    parts: dict[str, Any] = {
        "operation": operation, "contract": contract, "attempts": (attempt,), "receipts": (), "lookups": (),
        "review": None, "review_needed": False, "authority_now": True, "incident_open": False, "stop": None,
        "scope_now": "s", "budget": "left", "restore": installation, "now": after, "run_from": _BEGAN,
    }  # fmt: skip
    return Situation(**parts)
