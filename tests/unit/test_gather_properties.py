"""Design section 2, rules 3 to 6, 8, 10 and 20, over random histories of attempts. Each is said in records, not in facts."""

import json
from collections import Counter
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.model.operation import AttemptRecord
from counterfoil.model.review import ReviewState
from counterfoil.rules.gather import Situation, gather, next_look_at
from counterfoil.rules.recovery import Kind, rule
from tests.unit.operation_records import (
    SECOND,
)
from tests.unit.random_histories import history

pytestmark = pytest.mark.timeout(90)  # many histories; coverage and other work on the machine slow them down

MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
numbers = st.integers(0, 10**6)


def histories(number: int) -> list[Situation]:
    """A hundred histories from one number."""
    return [history(number * 100 + n) for n in range(100)]


def test_the_histories_reach_every_kind_of_ruling() -> None:
    """A guard of these tests themselves: each property below has something to hold for."""
    rulings = Counter(rule(gather(history(number)))[0].letter for number in range(10_000))
    for letter in "CDEFGHJKLMNOPQRSTUVWXYZ":
        assert rulings[letter] >= 3, (letter, rulings)


def kind_of(whole: Situation) -> Kind:
    return rule(gather(whole))[1].kind


def ruled(kind: Kind, number: int) -> list[Situation]:
    return [whole for whole in histories(number) if kind_of(whole) is kind]


def restored(whole: Situation) -> bool:
    return whole.operation.incarnation < whole.restore.incarnation or whole.stop == "restored"


def under_this_key(whole: Situation) -> list[AttemptRecord]:
    return [one for one in may_have_acted(whole) if one.key_number == whole.operation.key_number]


def sends(whole: Situation) -> bool:
    return kind_of(whole) in (Kind.SEND, Kind.REPEAT)


def without_effect(one: AttemptRecord) -> bool:
    """Its own answer, or our own layer, closed it."""
    return one.answer_class in ("refused", "not_applied") or (one.sent == 0 and one.ended_at is not None)


def may_have_acted(whole: Situation) -> list[AttemptRecord]:
    return [one for one in whole.attempts if not without_effect(one)]


def us(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


@MANY
@given(numbers)
def test_nothing_is_sent_beside_a_live_attempt(number: int) -> None:
    for whole in filter(sends, histories(number)):
        for one in whole.attempts:
            assert one.ended_at is not None or one.sender_gone_at is not None or whole.now >= one.deadline_at


@MANY
@given(numbers)
def test_a_repeat_is_of_one_scope_one_content_and_an_unspoiled_key(number: int) -> None:
    for whole in ruled(Kind.REPEAT, number):
        key, same = whole.contract.key, under_this_key(whole)
        if key is None:
            assert whole.contract.precondition is not None
            continue
        assert whole.operation.key_state is None
        assert not any(one.answer_class in ("key_poisoned", "key_mismatch") for one in same)
        assert all(one.scope == whole.scope_now for one in same)
        assert key.other_body == "rejects" or len({one.request_digest for one in same}) < 2
        assert key.other_body == "rejects" or not restored(whole)


@MANY
@given(numbers)
def test_a_repeat_arrives_inside_the_window_and_no_unsaved_answer_came(number: int) -> None:
    for whole in ruled(Kind.REPEAT, number):
        key, same = whole.contract.key, under_this_key(whole)
        if key is None or whole.contract.precondition is not None:
            continue
        if whole.attempts and not same and not restored(whole):
            assert not may_have_acted(whole)  # every try is proven without effect: no window runs
            continue
        saved = key.saves or {"2xx"}
        assert not any(
            one.answer_class == "ambiguous" and f"{one.answer_status}"[0] + "xx" not in saved for one in same
        )
        late = us(key.arrives_within or timedelta(0)) + us(key.margin or timedelta(0))
        arrival = whole.now + us(whole.contract.request_timeout) + late
        first = min((one.started_at for one in same), default=whole.operation.prepared_at)
        working = [one.started_at for one in same if one.answer_class == "in_progress"]
        assert key.retention is not None
        assert arrival <= (max([first, *working]) if key.clock == "completion" else first) + us(key.retention)


@MANY
@given(numbers)
def test_without_key_or_order_what_may_have_left_is_sent_again_only_on_proven_absence(number: int) -> None:
    for whole in ruled(Kind.SEND, number):
        acted = may_have_acted(whole)
        if whole.operation.resolution is not None or not (acted or restored(whole)):
            continue
        question = whole.contract.lookup
        assert question is not None
        assert question.absence_authorises is not False
        assert None not in (question.consistency, question.visible_within, question.arrives_within)
        newest = max((r for r in whole.lookups if r.attempts >= len(whole.attempts)), key=lambda record: record.n)
        assert (newest.result, newest.complete) == ("absent", 1)
        settled = us(question.visible_within or timedelta(0)) + us(question.arrives_within or timedelta(0))
        finished = whole.restore.restore_at or 0
        for one in acted:
            # Elapsed time alone proves nothing: its end is recorded, its lock is free, or a person attests it.
            assert one.sender_gone_at is not None or one.started_at <= finished
            assert newest.asked_at >= max(one.deadline_at, one.sender_gone_at or 0) + settled
        assert not restored(whole) or newest.asked_at >= finished + settled


@MANY
@given(numbers)
def test_time_alone_never_allows_a_send_of_what_may_have_left(number: int) -> None:
    for whole in histories(number):
        bare = replace(whole, contract=replace(whole.contract, key=None, precondition=None), lookups=())
        if may_have_acted(bare) and bare.operation.resolution is None:
            assert not sends(bare)
            assert not sends(replace(bare, now=bare.now + 10**9 * SECOND))


@MANY
@given(numbers)
def test_failure_is_recorded_only_when_every_try_is_closed(number: int) -> None:
    for whole in ruled(Kind.RECORD_FAILURE, number):
        if rule(gather(whole))[0].letter != "H":
            assert whole.operation.resolution is not None  # a person's word
            continue
        refused = [one for one in whole.attempts if one.answer_class == "refused"]
        assert refused
        assert not any(one.answer_class == "applied" for one in whole.attempts)
        assert not whole.receipts or (whole.weighed_at or 0) > 0
        spoken_for = any(json.loads(one.exchange or "{}")["replayed"] for one in refused)
        proven_absent = any(record.result == "absent" and record.complete for record in whole.lookups)
        assert not may_have_acted(whole) or spoken_for or proven_absent
        assert not restored(whole) or proven_absent


@MANY
@given(numbers)
def test_nothing_leaves_without_authority_budget_and_a_free_way(number: int) -> None:
    for whole in filter(sends, histories(number)):
        assert whole.stop is None
        assert not whole.incident_open
        assert whole.restore.restore_state != "open"
        assert whole.budget == "left"
        assert whole.operation.withdrawn is None
        if whole.review_needed:
            assert whole.review is not None
            assert whole.review.state is ReviewState.APPROVED
            assert whole.review.digest == whole.operation.payload_digest
            assert whole.review.expires_at > whole.now
            assert whole.review.incarnation >= whole.restore.incarnation
            assert whole.authority_now


@MANY
@given(numbers)
def test_an_order_to_send_again_is_used_once(number: int) -> None:
    for whole in histories(number):
        if rule(gather(whole))[0].letter == "Q":
            assert all(one.started_at < (whole.operation.resolved_at or 0) for one in whole.attempts)


@MANY
@given(numbers)
def test_the_next_look_lies_ahead_and_a_wait_for_time_names_it(number: int) -> None:
    for whole in histories(number):
        at = next_look_at(whole)
        assert at is None or at > whole.now
        ruling = rule(gather(whole))[1]
        if ruling.kind is Kind.WAIT and ruling.reason in ("attempt_over", "receiver_done", "visible", "reachable"):
            assert at is not None
