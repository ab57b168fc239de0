"""The simulated receiver keeps the contract that the ledger is told of, kind by kind."""

from typing import Any

import pytest

from counterfoil.testing.simulate.contracts import HABITS, VISIBLE_S, base_of, contract_of, names
from counterfoil.testing.simulate.receiver import SECOND_US, Receiver, Reply, Request, Work

NOW = 1_000 * SECOND_US


def _request(action: str, *, key: str | None = "k", amount: int = 1, method: str = "POST", place: str = "") -> Request:
    return Request(method, f"/{action}{place}", key, "op_1", {"number": "1", "amount": amount}, {"reference": "op_1"})


def _receiver() -> Receiver:
    return Receiver({name: HABITS[base_of(name)] for name in names()})


def _sent(receiver: Receiver, request: Request, now: int = NOW, **end: Any) -> Reply:
    begun = receiver.begin(request, now)
    return begun if isinstance(begun, Reply) else receiver.end(begun, now, **end)


@pytest.mark.parametrize("name", names())
def test_the_contract_and_the_habits_of_an_operation_agree(name: str) -> None:
    contract, habits = contract_of(name), HABITS[base_of(name)]
    assert (contract.key is not None) == habits.key
    assert (contract.lookup is not None) == habits.lookup
    assert (contract.precondition is not None) == habits.chosen_id
    if contract.key is not None:
        assert contract.key.retention is not None and contract.key.retention.total_seconds() == habits.window
        assert {f"{digit}xx" for digit in habits.saves} == contract.key.saves
        assert contract.key.other_body == habits.other_body
        lock = contract.key.lock_timeout
        assert (None if lock is None else lock.total_seconds()) == habits.lock_timeout
    assert habits.lag < VISIBLE_S


def test_a_repeat_under_the_key_is_answered_with_the_first_answer() -> None:
    receiver = _receiver()
    first, again = _sent(receiver, _request("keyed")), _sent(receiver, _request("keyed"))
    assert (first.status, first.replayed, again.body, again.replayed) == (201, False, first.body, True)
    assert len(receiver.records) == 1


def test_a_key_is_forgotten_when_its_window_is_over() -> None:
    receiver = _receiver()
    _sent(receiver, _request("keyed"))
    _sent(receiver, _request("keyed"), NOW + 239 * SECOND_US)
    assert len(receiver.records) == 1
    _sent(receiver, _request("keyed"), NOW + 240 * SECOND_US)
    assert len(receiver.records) == 2


def test_an_error_that_is_kept_is_answered_again_and_one_that_is_not_kept_acts_again() -> None:
    receiver = _receiver()
    assert [_sent(receiver, _request("keyed"), status=500).status for _ in range(2)] == [500, 500]
    assert len(receiver.held_for("op_1")) == 1
    assert [_sent(receiver, _request("first_only"), status=500).status for _ in range(2)] == [500, 500]
    assert len(receiver.held_for("op_1")) == 3


def test_other_content_under_a_known_key_is_rejected_or_answered_with_the_first() -> None:
    receiver = _receiver()
    for action, status in (("keyed", 422), ("replaying", 201)):
        _sent(receiver, _request(action))
        assert _sent(receiver, _request(action, amount=2)).status == status
    assert len(receiver.records) == 2


def test_a_repeat_while_the_first_is_at_work_is_told_so_until_the_lock_lets_go() -> None:
    receiver = _receiver()
    assert isinstance(receiver.begin(_request("locked"), NOW), Work)
    busy = receiver.begin(_request("locked"), NOW + 59 * SECOND_US)
    assert isinstance(busy, Reply) and busy.status == 409
    assert isinstance(receiver.begin(_request("locked"), NOW + 60 * SECOND_US), Work)


def test_an_id_of_our_choice_is_made_once() -> None:
    receiver = _receiver()
    first = _sent(receiver, _request("absent", key=None, method="PUT", place="/1"))
    again = _sent(receiver, _request("absent", key=None, method="PUT", place="/1"))
    other = _sent(receiver, _request("absent", key=None, method="PUT", place="/1", amount=2))
    assert (first.body["id"], again.body["id"], other.status, len(receiver.records)) == ("1", "1", 409, 1)


def test_a_record_shows_in_the_list_after_the_lag() -> None:
    receiver = _receiver()
    _sent(receiver, _request("listed", key=None))
    shown = [receiver.look(_request("listed", method="GET"), NOW + s * SECOND_US).body["data"] for s in (0, 21, 22)]
    assert [len(each) for each in shown] == [0, 0, 1]
    assert receiver.look(_request("mute", method="GET"), NOW).status == 405


def test_without_key_and_list_each_request_acts() -> None:
    receiver = _receiver()
    for _ in range(2):
        _sent(receiver, _request("mute", key=None))
    assert len(receiver.records) == 2


def test_lost_keys_and_a_receiver_that_doubles() -> None:
    receiver = _receiver()
    _sent(receiver, _request("keyed"), copies=2)
    receiver.forget_keys()
    _sent(receiver, _request("keyed"))
    assert len(receiver.records) == 3
