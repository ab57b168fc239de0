"""Histories that an engine makes which follows the rulings: it never contradicts itself, and has one live attempt at most."""

import json
from dataclasses import dataclass, replace
from random import Random
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from counterfoil.model.operation import AttemptRecord, OperationStatus
from counterfoil.rules.gather import Situation, gather, next_look_at
from counterfoil.rules.recovery import Kind, impossibilities, rule
from tests.unit.operation_records import (
    MINUTE,
    SECOND,
    attempt,
    lookup,
    situation,
)
from tests.unit.random_histories import ANSWERS, Chance, a_contract

pytestmark = pytest.mark.timeout(90)  # many histories; coverage and other work on the machine slow them down


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
