"""Each checker fires: a state that must not be, built by hand, is named."""

import hashlib
from dataclasses import replace
from typing import Any

import pytest
import rfc8785

from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.receipt import ReceiptRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.simulate import checkers
from counterfoil.testing.simulate.application import EXPIRES_S, Plan
from counterfoil.testing.simulate.book import Book, Consent, Wish
from counterfoil.testing.simulate.checkers import SLACK_US, Seen
from counterfoil.testing.simulate.contracts import HABITS, base_of, names
from counterfoil.testing.simulate.network import Departure, Network
from counterfoil.testing.simulate.receiver import Receiver, Record, Request
from counterfoil.testing.simulate.site import SECOND_US
from counterfoil.testing.simulate.world import World
from tests.simulation.records import operation, run

BODY = {"number": "1", "amount": 5}
DIGEST = "sha256:" + hashlib.sha256(rfc8785.dumps(BODY)).hexdigest()
T = 2_000 * SECOND_US


def _seen(**given: Any) -> Seen:
    receiver = Receiver({name: HABITS[base_of(name)] for name in names()})
    network = Network(World(1), receiver)
    usual: dict[str, Any] = {
        "book": Book(), "network": network, "set_back_us": 0, "runs": [], "operations": {}, "incidents": [], "receipts": [],
    }  # fmt: skip
    return Seen(**(usual | given))


def _with_records(seen: Seen, *references: str, action: str = "keyed") -> Seen:
    for n, reference in enumerate(references):
        seen.network.receiver.records.append(Record(f"{action}-{n}", action, reference, None, dict(BODY), T, T))
    return seen


def _checkers(found: list[checkers.Violation]) -> list[str]:
    return [violation.checker for violation in found]


def _incident(operation_id: str) -> IncidentRecord:
    return IncidentRecord("inc", 1, operation_id, "run", None, "two", "", T, None, None, None)


# ------------------------------------------------------------------ the receiver


def test_two_records_for_one_intention_are_a_duplicate() -> None:
    assert checkers.no_duplicates(_with_records(_seen(), "op_1")) == []
    assert _checkers(checkers.no_duplicates(_with_records(_seen(), "op_1", "op_2"))) == ["duplicates"]


def test_a_second_occurrence_that_a_person_allowed_is_none() -> None:
    seen = _with_records(_seen(), "op_1", "op_2")
    seen.book.allowed["keyed 1"] += 1
    assert checkers.no_duplicates(seen) == []


@pytest.mark.parametrize("why", ["incident", "breach", "hasty"])
def test_a_duplicate_with_a_name_is_counted_as_residue(why: str) -> None:
    seen = _with_records(_seen(incidents=[_incident("op_1")] if why == "incident" else []), "op_1", "op_1")
    if why == "breach":
        seen.network.breaches["op_1"] = "the receiver lost its keys"
    if why == "hasty":
        seen.book.hasty.add("op_1")
    assert checkers.no_duplicates(seen) == [] and sum(seen.residue.values()) == 1


def test_what_has_no_business_key_is_meant_once_for_each_operation() -> None:
    assert checkers.no_duplicates(_with_records(_seen(), "op_1", "op_2", action="loose")) == []
    assert _checkers(checkers.no_duplicates(_with_records(_seen(), "op_1", "op_1", action="loose"))) == ["duplicates"]


def test_done_without_a_record_or_a_receipt_is_wrong() -> None:
    done = replace(operation(), operation_id="op_1", name="keyed", status=OperationStatus.SUCCEEDED, resolution=None)
    receipt = ReceiptRecord("rcp", "op_1", "run", None, "reply", "keyed-0", "{}", "sha256:0", "first_result", T)
    known = {"op_1": done}
    assert checkers.nothing_wrongly_closed(_with_records(_seen(operations=known, receipts=[receipt]), "op_1")) == []
    assert _checkers(checkers.nothing_wrongly_closed(_with_records(_seen(operations=known), "op_1"))) == ["closed"]
    assert _checkers(checkers.nothing_wrongly_closed(_seen(operations=known, receipts=[receipt]))) == ["closed"]


def test_failed_with_a_record_is_wrong() -> None:
    failed = {"op_1": replace(operation(), operation_id="op_1", status=OperationStatus.FAILED)}
    assert checkers.nothing_wrongly_closed(_seen(operations=failed)) == []
    assert _checkers(checkers.nothing_wrongly_closed(_with_records(_seen(operations=failed), "op_1"))) == ["closed"]


def test_a_record_of_nobody_is_unledgered() -> None:
    assert _checkers(checkers.nothing_unledgered(_with_records(_seen(), "op_9"))) == ["unledgered"]
    known: dict[str, OperationRecord] = {"op_9": operation()}
    assert checkers.nothing_unledgered(_with_records(_seen(operations=known), "op_9")) == []


# ------------------------------------------------------------------ authority


def _departure(action: str = "keyed_reviewed", at_us: int = T) -> Departure:
    return Departure(Request("POST", f"/{action}", None, "op_1", BODY, {}), "worker-1", at_us, at_us)


def _approved(*consents: Consent, action: str = "keyed_reviewed", at_us: int = T) -> list[str]:
    seen = _seen()
    seen.network.departures.append(_departure(action, at_us))
    seen.book.consents += consents
    return _checkers(checkers.approvals_bound(seen))


def test_what_leaves_was_approved_with_this_content_by_somebody_entitled_and_not_too_long_ago() -> None:
    yes = Consent("op_1", DIGEST, "ana", T - SECOND_US)
    assert _approved(yes) == []
    assert _approved() == ["approvals"]
    assert _approved(replace(yes, digest="sha256:0")) == ["approvals"]
    assert _approved(replace(yes, operation_id="op_2")) == ["approvals"]
    assert _approved(replace(yes, person="max")) == ["approvals"]
    assert _approved(replace(yes, at_us=T + 1)) == ["approvals"]
    assert _approved(yes, at_us=T + EXPIRES_S * SECOND_US + SLACK_US) == ["approvals"]


def test_an_approval_that_was_taken_back_is_none() -> None:
    void = Consent("op_1", DIGEST, "ana", T - 100 * SECOND_US, T - 50 * SECOND_US)
    assert _approved(void) == ["approvals"]
    assert _approved(replace(void, void_us=T)) == []  # weighed before, and on its way


def test_two_approvals_are_of_two_people() -> None:
    ana, ben = Consent("op_1", DIGEST, "ana", T - 9), Consent("op_1", DIGEST, "ben", T - 9)
    assert _approved(ana, ana, action="keyed_paired") == ["approvals"]
    assert _approved(ana, ben, action="keyed_paired") == []


def test_what_needs_nobody_leaves_without() -> None:
    assert _approved(action="keyed") == []


# ------------------------------------------------------------------ over time


def _run(**given: Any) -> RunRecord:
    return replace(run(), **({"state": RunState.PARKED, "owner": "lead", "deadline_at": T} | given))


def test_a_wait_without_an_owner_or_a_deadline_is_silent() -> None:
    assert checkers.nobody_waits_in_silence([_run(), _run(state=RunState.COMPLETED, owner="", deadline_at=None)]) == []
    assert _checkers(checkers.nobody_waits_in_silence([_run(owner="")])) == ["silence"]
    assert _checkers(checkers.nobody_waits_in_silence([_run(deadline_at=None, state=RunState.WAITING)])) == ["silence"]


def test_what_neither_ends_nor_asks_a_named_person_is_no_end() -> None:
    assert checkers.all_end(_seen(runs=[_run(state=RunState.FAILED)]), T) == []
    parked = _seen(runs=[_run()])
    assert checkers.all_end(parked, T) == [] and sum(parked.residue.values()) == 1
    assert _checkers(checkers.all_end(_seen(runs=[_run(state=RunState.WAITING)]), T)) == ["liveness"]
    assert _checkers(checkers.all_end(_seen(runs=[_run()]), T + 301 * SECOND_US)) == ["liveness"]
    wish = Wish("request-1", Plan(acts=[]), T, None)
    assert _checkers(checkers.all_end(_seen(book=Book(wishes=[wish])), T)) == ["liveness"]


def test_a_run_that_was_acknowledged_and_is_gone_is_not_accounted_for() -> None:
    wish = Wish("request-1", Plan(acts=[]), T, None, run_id="run_1", acknowledged=True)
    assert checkers.all_accounted(_seen(book=Book(wishes=[wish]))) == ["request-1"]
    assert checkers.all_accounted(_seen(book=Book(wishes=[wish]), runs=[_run(run_id="run_1")])) == []
