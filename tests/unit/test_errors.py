"""Errors: what they say, and that a failure is the same after a journal, another process and a replay."""

import json
import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.error_codes import CODES
from counterfoil.model.errors import (
    CounterfoilError,
    DocumentMoved,
    OperationFailed,
    Refused,
    ReviewExpired,
    ReviewRejected,
    RunFailed,
    StepFailed,
    TimedOut,
    Unresolved,
    failure_from,
)

FAILURES = {
    "step": StepFailed("no_such_charge", "'x' is not a charge"),
    "kind": StepFailed("no_such_charge", "'x' is not a charge", "input"),
    "operation": OperationFailed("op_1", "card declined"),
    "withdrawn": OperationFailed("op_1", "never sent", code="withdrawn", kind="withdrawn"),
    "rejected": ReviewRejected("rev_1", "ana", "too much", True),
    "expired": ReviewExpired("rev_1"),
    "moved": DocumentMoved("notes", 3, 4),
    "timed out": TimedOut("the signal go"),
}
OTHERS = {
    "refused": Refused("not_found", what="Run", id="run-7"),
    "run failed": RunFailed("run_1", "cancelled", "by ana"),
    "unresolved": Unresolved("run_1", "op_1", "counterfoil operations resolve op-1", sentence="In doubt."),
    "unresolved run": Unresolved("run_1", None, "counterfoil runs show run-1"),
}


class Declined(StepFailed):
    """A user's own final failure."""

    def __init__(self, bank: str) -> None:
        super().__init__("declined", f"{bank} declined")
        self.bank = bank


def same(one: CounterfoilError, other: CounterfoilError) -> bool:
    return (type(one), one.args, vars(one), str(one)) == (type(other), other.args, vars(other), str(other))


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_the_same_after_the_journal(name: str) -> None:
    failure = FAILURES[name]
    again = failure_from(json.loads(json.dumps(failure.facts())))
    assert same(again, failure)
    assert again.park_reason == failure.park_reason


@given(st.text(), st.text(), st.text())
def test_any_text_of_a_failure_survives(code: str, message: str, kind: str) -> None:
    failure = StepFailed(code, message, kind)
    assert same(failure_from(json.loads(json.dumps(failure.facts()))), failure)


def test_half_a_character_in_a_message_is_shown_and_stops_nothing() -> None:
    failure = StepFailed("no", "the receiver said \ud800 and 👍")
    assert failure.message == "the receiver said \\ud800 and 👍"
    assert failure.args == (failure.message,)


def test_a_users_own_failure_comes_back_as_a_step_failure_with_its_attributes() -> None:
    """Its class may be gone tomorrow: replay and first execution both give the class that is always there."""
    again = failure_from(json.loads(json.dumps(Declined("a bank").facts())))
    assert (type(again), again.code, again.message) == (StepFailed, "declined", "a bank declined")
    assert again.kind == "Declined"
    assert vars(again)["bank"] == "a bank"


@pytest.mark.parametrize("name", [*FAILURES, *OTHERS])
def test_an_error_survives_another_process(name: str) -> None:
    error = (FAILURES | OTHERS)[name]
    assert same(pickle.loads(pickle.dumps(error)), error)


PARKS = [
    ("step", "step_failed"),
    ("operation", "step_failed"),
    ("rejected", "review_rejected"),
    ("expired", "review_expired"),
]


@pytest.mark.parametrize(("name", "reason"), [*PARKS, ("timed out", "expired")])
def test_an_unanswered_failure_parks_under_its_own_reason(name: str, reason: str) -> None:
    assert FAILURES[name].park_reason == reason


@pytest.mark.parametrize("code", CODES)
def test_a_message_without_its_details_shows_a_gap_and_not_an_error(code: str) -> None:
    error = Refused(code)
    assert error.code == code
    assert "{" not in error.message + error.safe_next
    assert error.exit_status in (1, 2, 3, 4, 5, 6, 70)


def test_an_unknown_code_is_our_defect_and_says_which() -> None:
    error = CounterfoilError("no_such_code", where="here")
    assert error.exit_status == 70
    assert "unknown error code no_such_code" in str(error)
    assert error.details["where"] == "here"


def test_what_an_error_says_names_what_happened_and_what_to_do() -> None:
    error = OTHERS["refused"]
    assert str(error) == f"{error.message} ({error.code}) {error.safe_next}"
    assert "run-7" in error.message


@pytest.mark.parametrize(("name", "what"), [("unresolved", "Operation op_1"), ("unresolved run", "Run run_1")])
def test_unresolved_says_what_waits_and_the_command_that_moves_it(name: str, what: str) -> None:
    error = OTHERS[name]
    assert isinstance(error, Unresolved)
    assert what in error.message
    assert error.command in str(error)


def test_unresolved_says_who_can_resolve_it() -> None:
    ana = {"kind": "operator", "name": "ana"}
    error = Unresolved("run_1", "op_1", "counterfoil operations resolve op-1", next_action={"who": ana})
    assert error.who == ana
    assert Unresolved("run_1", None, "counterfoil runs show run-1").who == {"kind": "none", "name": None}


def test_the_facts_of_a_failure_are_plain_json_and_no_more() -> None:
    facts: dict[str, Any] = FAILURES["rejected"].facts()
    assert facts == {
        "type": "ReviewRejected",
        "code": "review_rejected",
        "message": "ana rejected it: too much",
        "kind": "rejected",
        "review_id": "rev_1",
        "reviewer": "ana",
        "comment": "too much",
        "ask_revision": True,
    }
