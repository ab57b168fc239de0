"""Decisions as one person sees them: of the workflows that are seen, without what is not read, and no data set of the rest."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from counterfoil.app.decisions import DecisionFilter
from counterfoil.app.desk import Desk
from counterfoil.engine.decisions import AcceptDecision, AskModel
from counterfoil.engine.reviews import Answer
from counterfoil.model.access import RecordKind
from counterfoil.model.errors import Refused
from tests.engine.desk_stage import Stage, stage

REJECTED = DecisionFilter(verdict="rejected")


@pytest.fixture
def on(tmp_path: Path) -> Iterator[Stage]:
    """run-1 of refund: a decision, and a proposal of it that ana has rejected."""
    with stage(tmp_path) as here:
        filled = here.filled
        filled.submitted().claimed()
        asked = {"in": "x", "n": 1, "lost": False, "prompt_version": "1", "model": "m", "input": "the secret letter"}
        accepted = {"in": "x", "output": {"amount": 120}, "usage": {"input_tokens": 3}, "cost_micros": 7} | {
            "prompt_version": "1", "model": "m",
        }  # fmt: skip
        for verb, data in ((AskModel, asked), (AcceptDecision, accepted)):
            filled.ask(verb(filled.run_id, filled.fence, "d", "decide judge", data, 50, filled.opened.deadlines))
        filled.prepared()
        review = filled.asked()
        answer = Answer(
            filled.run_id, review.review_id, filled.operation_id, "ana", False, review.digest, "a secret reason", False
        )
        filled.ask(answer)
        yield here


def reading(on: Stage, *kinds: RecordKind, workflow: str = "refund") -> Desk:
    for kind in kinds:
        on.grant("some", "read", kind=kind.value, workflow=workflow)
    return on.app.desk(on.person("pat", "some"))


def test_whoever_reads_everything_sees_what_the_file_holds(on: Stage) -> None:
    desk = on.app.desk(on.person("root", "admin"))
    (item,) = desk.decisions.list()["items"]
    assert item == on.app.decisions.list()["items"][0] | {"withheld": []}
    assert (item["verdict"], item["verdicts"][0]["comment"], item["agent"]) == ("rejected", "a secret reason", "judge")
    assert desk.decisions.list(REJECTED)["items"] == [item]
    assert desk.decisions.show("run-1/3")["input"] == {"input": "the secret letter"}
    cases = desk.decisions.cases()
    assert (len(cases["cases"]), cases["withheld"]) == (1, 0)
    assert desk.decisions.usage()["total"]["cost_micros"] == 7


def without_decisions(desk: Desk) -> list[Any]:
    return [desk.decisions.list(), desk.decisions.show("run-1/3"), desk.decisions.cases(), desk.decisions.usage()]


def test_whoever_reads_no_decisions_sees_that_one_was_made(on: Stage) -> None:
    desk = reading(on, RecordKind.APPROVALS, RecordKind.PAYLOADS)
    listed, shown, cases, usage = without_decisions(desk)
    assert listed["items"][0]["withheld"] == ["decisions"]
    assert (shown["input"], shown["output"], shown["usage"], shown["versions"]) == (None, None, None, None)
    assert shown["verdict"] == "rejected"
    assert (cases["cases"], cases["withheld"]) == ([], 1)
    assert (usage["items"], usage["total"]["asked"]) == ([], 0)
    assert "the secret letter" not in str([listed, shown, cases, usage])


def test_whoever_reads_no_approvals_cannot_ask_for_verdicts(on: Stage) -> None:
    desk = reading(on, RecordKind.DECISIONS)
    (item,) = desk.decisions.list()["items"]
    assert (item["verdict"], item["verdicts"], item["withheld"]) == (None, None, ["approvals"])
    assert desk.decisions.show("run-1/3")["output"] == {"amount": 120}
    assert desk.decisions.list(REJECTED)["items"] == [], "that it is found would tell its verdict"
    cases = desk.decisions.cases()
    assert (cases["cases"], cases["withheld"]) == ([], 1)
    assert desk.decisions.cases(REJECTED) == {"cases": [], "missing": [], "more": False, "withheld": 0}
    assert desk.decisions.usage()["total"]["cost_micros"] == 7


@pytest.mark.parametrize("who", ["nobody", "another workflow", "another token"])
def test_what_is_not_seen_is_not_there(on: Stage, who: str) -> None:
    match who:
        case "nobody":
            desk = on.app.desk(on.nobody)
        case "another workflow":
            desk = reading(on, *RecordKind, workflow="hire")
        case _:
            on.person("pat", "admin")
            desk = on.app.desk(on.token("pat", workflows=["hire"]))
    assert desk.decisions.list()["items"] == []
    assert desk.decisions.cases() == {"cases": [], "missing": [], "more": False, "withheld": 0}
    assert desk.decisions.usage()["total"]["asked"] == 0
    with pytest.raises(Refused) as refused:
        desk.decisions.show("run-1/3")
    assert refused.value.code == "not_found"
