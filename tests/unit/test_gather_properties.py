"""Design section 2, rules 3 to 6, 8, 10 and 20, over random histories of attempts. Each is said in records, not in facts."""

import json
from collections import Counter
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, When
from counterfoil.model.exchange import Exchange
from counterfoil.model.operation import AttemptRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.gather import Situation, gather, next_look_at
from counterfoil.rules.recovery import Kind, impossibilities, rule
from tests.unit.operation_records import (
    MINUTE,
    SECOND,
    START,
    attempt,
    find,
    installation,
    lookup,
    operation,
    receipt,
    review,
    situation,
)

MANY = settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
ANSWERS = (
    (200, "applied"),
    (402, "refused"),
    (429, "not_applied"),
    (409, "in_progress"),
    (422, "key_mismatch"),
    (500, "key_poisoned"),
    (500, "ambiguous"),
    (200, "ambiguous"),
)
CLASSIFIER = [When(status="2xx").means("applied"), When(status=402).means("refused")]


@dataclass(frozen=True)
class Chance:
    """A source of chance from one number, so that a history is made in microseconds and repeated from its number."""

    source: Random

    def of(self, *values: Any) -> Any:
        return self.source.choice(values)

    def instant(self) -> int:
        return START + self.source.choice((1, 2, 40 * 60)) * self.source.randrange(60) * MINUTE // 2

    def minutes(self) -> timedelta | None:
        return self.of(None, timedelta(0), timedelta(minutes=1), timedelta(minutes=self.source.randrange(60)))


def a_key(by: Chance) -> IdempotencyKey:
    return IdempotencyKey(
        header="K",
        retention=by.of(timedelta(minutes=90), timedelta(hours=24), timedelta.max),
        clock=by.of(None, "first_sent", "first_accepted", "completion"),
        margin=by.minutes(),
        other_body=by.of(None, "rejects", "replays"),
        saves=by.of(None, {"2xx"}, {"2xx", "4xx", "5xx"}),
        replay_marker=by.of(None, {"X-Replayed": "1"}),
        in_progress=by.of(None, "waits", "both_may_fail"),
        lock_timeout=by.of(None, None, timedelta(minutes=30)),
        arrives_within=by.minutes(),
    )


def a_lookup(by: Chance) -> Lookup:
    return Lookup(
        find,
        consistency=by.of(None, "strong", "strong", "eventual"),
        visible_within=by.minutes(),
        arrives_within=by.minutes(),
        absence_authorises=by.of(None, None, False),
    )


def a_contract(by: Chance) -> Contract:
    return Contract(
        api_version="1",
        classifier=CLASSIFIER,
        key=by.of(None, a_key(by)),
        lookup=by.of(None, a_lookup(by), a_lookup(by)),
        precondition=by.of(None, None, None, "create_if_absent"),
    )


def an_attempt(by: Chance, n: int, at: int) -> AttemptRecord:
    base = attempt(
        n,
        at=at,
        sender_gone_at=by.of(None, at, at + MINUTE, at + by.source.randrange(120) * MINUTE),
        key_number=by.of(0, 0, 0, 0, 1),
        scope=by.of(*["sha256:s"] * 5, "sha256:old"),
        request_digest=by.of(*["sha256:r"] * 5, "sha256:other"),
    )
    end = by.of("lost", "lost", "never left", "answered")
    if end == "never left":
        return replace(base, ended_at=at + SECOND, sent=0, sender_gone_at=at + SECOND)
    if end == "lost":
        return base
    status, meaning = by.of(*ANSWERS)
    kept = Exchange("body", True, status, replayed=by.of(None, True, False)).kept()
    closed = int(meaning in ("refused", "not_applied"))
    told = replace(
        base, answer_status=status, answer_class=meaning, answer_at=at + SECOND, exchange=kept, closed=closed
    )
    return replace(told, ended_at=at + SECOND, sender_gone_at=at + SECOND)


def history(number: int) -> Situation:
    """Any records at all, possible or not: nothing of them may lead to a send that the rules forbid."""
    by = Chance(Random(number))
    times = sorted(by.instant() for _ in range(by.of(0, 1, 1, 2, 3)))
    attempts = [an_attempt(by, n, at) for n, at in enumerate(times, 1)]
    asked = sorted(by.instant() for _ in range(by.of(0, 1, 1, 2)))
    results = ["absent"] * 6 + ["match", "mismatch", "several", "unreachable"]
    said = by.of(*[None] * 5, "send-again", "failed")
    restored = by.of(*[None] * 6, "open", "finished")
    questions = [
        lookup(by.of(*results), at, n=n, complete=by.of(1, 1, 0), attempts=by.of(len(attempts), by.source.randrange(3)))
        for n, at in enumerate(asked, 1)
    ]
    return situation(
        operation=operation(
            status=by.of(OperationStatus.PREPARED, OperationStatus.IN_FLIGHT, OperationStatus.UNKNOWN),
            sent=by.of(0, 1),
            key_number=by.of(0, 0, 0, 1),
            key_state=by.of(*[None] * 6, "poisoned"),
            withdrawn=by.of(*[None] * 6, "cancelled"),
            resolution=said and json.dumps({"as": said, "new_key": by.of(True, False)}),
            resolved_at=by.instant() if said else None,
        ),
        contract=a_contract(by),
        attempts=attempts,
        lookups=questions,
        receipts=by.of(*[()] * 9, (receipt("webhook", by.instant()),)),
        review=by.of(None, a_review(by), a_review(by)),
        review_needed=by.of(True, False),
        authority_now=by.of(True, True, True, False, None),
        incident_open=by.of(*[False] * 9, True),
        stop=by.of(*[None] * 6, "suspended", "restored"),
        budget=by.of("left", "left", "left", "spent"),
        restore=installation(
            incarnation=2 if restored else 1, restore_state=restored, restore_at=by.instant() if restored else None
        ),
        now=by.instant(),
    )


def a_review(by: Chance) -> ReviewRecord:
    state = by.of(ReviewState.APPROVED, ReviewState.APPROVED, *ReviewState)
    return review(
        state=state,
        expires_at=START + by.source.randrange(4000) * MINUTE,
        digest=by.of("sha256:p", "sha256:p", "sha256:p", "sha256:older"),
        incarnation=by.of(1, 1, 2),
    )


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


# --- histories that the engine itself makes ----------------------------------------------------------------------------


@dataclass
class Play:
    """An engine that does what the table says, a receiver that answers anything, and processes that die."""

    whole: Situation
    draw: Any

    def step(self) -> None:
        """One ruling, followed."""
        facts = gather(self.whole)
        assert not [problem.name for problem in impossibilities(facts)]
        ruling = rule(facts)[1]
        move = {
            Kind.SEND: self.send,
            Kind.REPEAT: self.send,
            Kind.LOOK_UP: self.ask,
            Kind.WAIT: self.wait,
            Kind.ASK_PERSON: self.person,
            Kind.OPEN_INCIDENT: self.incident,
            Kind.RECORD_SUCCESS: lambda: self.close(OperationStatus.SUCCEEDED),
            Kind.RECORD_FAILURE: lambda: self.close(OperationStatus.FAILED),
        }.get(ruling.kind, self.tick)
        move()
        self.tick()

    def put(self, **parts: Any) -> None:
        self.whole = replace(self.whole, operation=replace(self.whole.operation, **parts))

    def tick(self) -> None:
        minutes = self.draw(st.sampled_from([0, 1, 7, 60, 1500]))
        self.whole = replace(self.whole, now=self.whole.now + minutes * MINUTE + SECOND)
        if self.draw(st.integers(0, 5)) == 0:
            self.late()
        if self.draw(st.integers(0, 2)) == 0:
            gone = [replace(a, sender_gone_at=a.sender_gone_at or self.whole.now) for a in self.whole.attempts]
            self.whole = replace(self.whole, attempts=gone)

    def send(self) -> None:
        number, n = self.whole.operation.key_number, len(self.whole.attempts) + 1
        # Absence with its sender gone has closed the tries before.
        before = list(self.whole.attempts)
        if gather(self.whole).lookup == "absent_auth" and gather(self.whole).sender == "gone":
            before = [replace(a, closed=1) for a in before]
        new = attempt(n, at=self.whole.now, sender_gone_at=None, key_number=number)
        self.whole = replace(self.whole, attempts=[*before, new])
        self.put(status=OperationStatus.IN_FLIGHT, sent=1, attempts=n)
        end = self.draw(st.sampled_from(["lost", "lost", "never left", *range(len(ANSWERS))]))
        if end == "never left":
            at = self.whole.now + SECOND
            self.change(replace(new, sent=0, ended_at=at, sender_gone_at=at, closed=1))
        elif end != "lost":
            self.answer(new, *ANSWERS[end])

    def change(self, new: AttemptRecord) -> None:
        self.whole = replace(self.whole, attempts=[new if a.n == new.n else a for a in self.whole.attempts])

    def answer(self, one: AttemptRecord, status: int, meaning: str) -> None:
        at = self.whole.now + SECOND
        told = replace(one, answer_status=status, answer_class=meaning, answer_at=at, exchange=None)
        told = replace(told, ended_at=one.ended_at or at, sender_gone_at=one.sender_gone_at or at)
        self.change(replace(told, closed=int(bool(one.closed) or meaning in ("refused", "not_applied"))))

    def late(self) -> None:
        silent = [a for a in self.whole.attempts if a.answer_at is None and a.sent and a.sender_gone_at is not None]
        if silent and not self.whole.operation.status.closed:
            self.answer(self.draw(st.sampled_from(silent)), *self.draw(st.sampled_from(ANSWERS)))

    def ask(self) -> None:
        result = self.draw(st.sampled_from(["absent", "absent", "unreachable", "match", "mismatch", "several"]))
        n = len(self.whole.lookups) + 1
        record = lookup(result, self.whole.now, n=n, attempts=len(self.whole.attempts))
        self.whole = replace(self.whole, lookups=[*self.whole.lookups, record])

    def wait(self) -> None:
        at = next_look_at(self.whole)
        if at is not None:
            self.whole = replace(self.whole, now=at)

    def person(self) -> None:
        facts = gather(self.whole)
        self.put(status=OperationStatus.UNKNOWN)
        words = ["succeeded", "failed", "new"] + (["same"] if facts.key == "open" else [])
        word = self.draw(st.sampled_from(words))
        if facts.sent == "no" or facts.attempt == "live":
            return self.put(status=OperationStatus.IN_FLIGHT)
        if word in ("succeeded", "failed"):
            said: dict[str, Any] = {"as": word}
        else:
            said = {"as": "send-again", "new_key": word == "new"}
            self.put(key_number=self.whole.operation.key_number + (word == "new"))
        self.put(resolution=json.dumps(said), resolved_at=self.whole.now)

    def incident(self) -> None:
        self.whole = replace(self.whole, weighed_at=self.whole.now)

    def close(self, status: OperationStatus) -> None:
        self.put(status=status, closed_at=self.whole.now)


@settings(max_examples=250, suppress_health_check=[HealthCheck.too_slow])
@given(st.integers(0, 10**9), st.data())
def test_an_engine_that_follows_the_rulings_never_contradicts_itself(number: int, data: st.DataObject) -> None:
    play = Play(situation(contract=a_contract(Chance(Random(number)))), data.draw)
    for _ in range(12):
        play.step()
        if play.whole.operation.status.closed:
            break
    live = [a for a in play.whole.attempts if a.ended_at is None and a.sender_gone_at is None]
    assert len([a for a in live if play.whole.now < a.deadline_at]) <= 1
