"""Random histories of one operation, each made from one number."""

import json
from dataclasses import dataclass, replace
from datetime import timedelta
from random import Random
from typing import Any

from counterfoil.model.contract import Contract, IdempotencyKey, Lookup, When
from counterfoil.model.exchange import Exchange
from counterfoil.model.operation import AttemptRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.rules.gather import Situation
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
            incarnation=2 if restored else 1,
            restore_state=restored,
            restore_at=by.instant() if restored else None,
            lost_until=by.instant() if restored else None,
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
