"""Killed around the admission of messages, between turns, while a steer is read, during an abort, and with two owners."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from counterfoil.model.conversation import ConversationRecord, TurnRecord
from counterfoil.model.document import DocumentVersionRecord
from counterfoil.model.journal import Entry
from counterfoil.model.run import RunRecord
from tests.crash.rows import row
from tests.crash.stage import Stage, verified
from tests.crash.talk import ABORTED, MESSAGES

SPEAKS, ABORTS, KEEPS = "tests.crash.talk:speaks", "tests.crash.talk:aborts", "tests.crash.talk:keeps"


class Told:
    """A conversation as the database has it in the end."""

    def __init__(self, stage: Stage) -> None:
        with stage.ledger.reader() as reader:
            self.runs = {run.request_id: run for run in reader.rows(RunRecord)}
            self.conversations = list(reader.rows(ConversationRecord))
            self.turns = sorted(reader.rows(TurnRecord), key=lambda turn: turn.n)
            self.journal: list[Entry] = [entry for _, entry in reader.journal()]

    def kinds(self, request_id: str) -> list[str]:
        return [entry.kind.value for entry in self.journal if entry.run_id == self.runs[request_id].run_id]

    def result(self, request_id: str) -> Any:
        return json.loads(self.runs[request_id].result or "null")


def check(stage: Stage, messages: Sequence[Any]) -> Told:
    """Each message is one turn and one run; the turns are one chain; no two of them were ever at work at once."""
    report = verified(stage)
    assert report["sound"] and report["rows_compared"] > 0, report
    told = Told(stage)
    (conversation,) = told.conversations
    assert set(told.runs) == {request_id for request_id, _, _ in messages}
    assert [turn.n for turn in told.turns] == list(range(1, len(messages) + 1))
    chain = [turn.run_id for turn in told.turns]
    assert [turn.prior_run_id for turn in told.turns] == [None, *chain[:-1]]
    assert (conversation.head_run_id, conversation.turns) == (chain[-1], len(chain))
    assert all(run.state.ended and run.after_run_id is None for run in told.runs.values())
    assert all(told.kinds(request_id).count("finished") == 1 for request_id in told.runs)
    alone(told)
    return told


def alone(told: Told) -> None:
    """In the order of the journal: a turn is taken up only when the one before it has ended."""
    at_work: str | None = None
    turns = {turn.run_id for turn in told.turns}
    cancelled = {run.run_id for run in told.runs.values() if run.cancel_asked}
    for entry in told.journal:
        if entry.run_id in turns - cancelled and entry.kind == "started":
            assert at_work in (None, entry.run_id), (at_work, entry)
            at_work = entry.run_id
        elif entry.run_id == at_work and entry.kind == "finished":
            at_work = None


def check_whole(stage: Stage) -> None:
    """The end is that of a life without a crash."""
    told = check(stage, MESSAGES)
    assert [told.result(request_id) for request_id, _, _ in MESSAGES] == [
        "steered + third", "second", {"steered_into": told.runs["m-1"].run_id}, "wait fourth"
    ]  # fmt: skip
    assert [turn.kind.value for turn in told.turns] == ["message", "message", "steer", "message"]
    for request_id in ("m-1", "m-2", "m-4"):
        assert told.kinds(request_id).count("message") == 2
    assert "started" not in told.kinds("m-3")


def test_a_conversation_that_nobody_disturbs(stage: Stage) -> None:
    stage.lives(SPEAKS)
    check_whole(stage)


POINTS = [
    *(f"run.submitted#{n}" for n in (1, 2, 3, 4)),
    *(f"run.claimed#{n}" for n in (1, 2, 3)),
    *(f"record.appended#{n}" for n in (1, 2, 3)),
    *(f"signal.stored#{n}" for n in (1, 2)),
    *(f"signal.received#{n}" for n in (1, 2, 3)),  # the second is the steer
    *(f"run.finished#{n}" for n in (1, 2, 3)),
]


@row("admission")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("point", POINTS)
def test_killed_at(stage: Stage, point: str, when: str) -> None:
    stage.dies(f"{when}:{point}", SPEAKS)
    if point == "run.submitted#1":
        assert (len(Told(stage).turns), len(Told(stage).runs)) == ((0, 0) if when == "before" else (1, 1))
    stage.lives(SPEAKS)
    check_whole(stage)


@pytest.mark.parametrize("point", ["run.submitted#3", "signal.received#2", "run.finished#1"])
def test_killed_again_and_again(stage: Stage, point: str) -> None:
    stage.dies(f"before:{point}", SPEAKS)
    for at in (f"after:{point}", f"before:{point.partition('#')[0]}", f"after:{point.partition('#')[0]}"):
        child = stage.start(SPEAKS, crash_at=at)
        assert child.wait() in (9, 0), child.wrote()  # what is done already is not done again
    stage.lives(SPEAKS)
    check_whole(stage)


@row("abort")
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("hit", [1, 2, 3])
def test_killed_during_an_abort(stage: Stage, hit: int, when: str) -> None:
    """The queue is withdrawn first, so that nothing of it begins between two deaths."""
    stage.dies(f"{when}:run.cancelled#{hit}", ABORTS)
    told = Told(stage)
    asked = [request_id for request_id, run in told.runs.items() if run.cancel_asked]
    assert sorted(asked) == ["m-3", "m-2", "m-1"][: hit - (when == "before")][::-1]
    stage.lives(ABORTS)
    told = check(stage, ABORTED)
    assert {run.state.value for run in told.runs.values()} == {"cancelled"}
    assert "message" not in told.kinds("m-2") + told.kinds("m-3")


OWNERS = {
    name: [[f"{name}-{n}", f"{name} says {n}", "steer" if n % 3 == 0 else "follow_up"] for n in range(5)]
    for name in ("ana", "oscar")
}


@row("two owners")
@pytest.mark.parametrize(
    "point", ["", "before:run.submitted#3", "after:run.submitted#3", "before:run.finished#2", "after:run.finished#2"]
)
def test_two_owners_speak_at_once_while_turns_end(stage: Stage, point: str) -> None:
    """Two processes admit and drive turns of one conversation; one of them is killed, and comes back."""
    stage.lives("found")
    children = [
        stage.start(SPEAKS, messages=messages, **({"crash_at": point} if point and name == "ana" else {}))
        for name, messages in OWNERS.items()
    ]
    statuses = [child.wait() for child in children]
    assert statuses[1] == 0, children[1].wrote()[-6000:]
    assert statuses[0] in ((9,) if point.partition(":")[2].startswith("run.submitted") else (0, 9) if point else (0,))
    if statuses[0]:
        stage.lives(SPEAKS, messages=OWNERS["ana"])
    told = check(stage, [message for messages in OWNERS.values() for message in messages])
    for messages in OWNERS.values():
        own = [turn.n for turn in told.turns if turn.run_id in {told.runs[m[0]].run_id for m in messages}]
        assert own == [next(t.n for t in told.turns if t.run_id == told.runs[m[0]].run_id) for m in messages], (
            "in the order in which they were sent"
        )
        for request_id, text, _ in messages:
            assert told.result(request_id) == text


@pytest.mark.parametrize(
    ("point", "left"),
    [("before:record.appended#2", []), ("after:record.appended#2", [["tea"]]), ("after:record.appended#1", [])],
)
def test_killed_around_the_write_of_a_document(stage: Stage, point: str, left: list[list[str]]) -> None:
    """Before the commit the old version is the newest, after it the new one; in the end it was written once."""
    stage.dies(point, KEEPS)
    assert _versions(stage) == left
    stage.lives(KEEPS)
    assert _versions(stage) == [["tea"]]
    assert Told(stage).result("m-1") == 1
    assert verified(stage)["sound"]


def _versions(stage: Stage) -> list[list[str]]:
    with stage.ledger.reader() as reader:
        return [json.loads(each.body)["lines"] for each in reader.rows(DocumentVersionRecord)]
