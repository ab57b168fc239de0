"""The refund without a ledger, by the same tool: it must fail, with duplicates and unledgered writes counted."""

from collections.abc import Iterator
from typing import Any

import pytest

from counterfoil.drills.case import Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.running import Ensemble
from counterfoil.drills.target import Target
from counterfoil.examples.refund.app import app as careful
from counterfoil.examples.refund.naive import app as naive

# What makes a step run again: a death before it is recorded, a full disk then, an older database, a copy.
REPEATED = {
    "naive_refund": ["step.ended#2/kill-before", "step.ended#2/disk-full", "run.submitted#1/restored-file", "run.submitted#1/cloned"],
    "refund": ["operation.replied#1/kill-after", "operation.classified#1/disk-full", "run.submitted#1/restored-file",
               "run.submitted#1/cloned"],
}  # fmt: skip
TARGETS = {"naive_refund": (naive, "naive"), "refund": (careful, "app")}


@pytest.fixture(params=list(REPEATED), scope="module")
def cases(request: pytest.FixtureRequest) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    name: str = request.param
    app, module = TARGETS[name]
    with Ensemble(Target.of(app, name, text=f"counterfoil.examples.refund.{module}:{name}")) as ensemble:
        (learned,) = ensemble.learn()
        yield name, ensemble.play([planned(learned, case) for case in REPEATED[name]], [learned])


def planned(learned: Learned, case: str) -> Planned:
    boundary, fault = case.split("/")
    return learned.planned(next(each for each in learned.passed if each.text == boundary), fault)


def test_without_a_ledger_the_receiver_holds_two_and_with_one_it_holds_one(
    cases: tuple[str, list[dict[str, Any]]],
) -> None:
    name, played = cases
    careless = name == "naive_refund"
    for case in played:
        receiver, codes = case["receiver"], {reason.partition(":")[0] for reason in case["reasons"]}
        assert case["verdict"] == ("fail" if careless else "pass"), case
        assert receiver["records"] == (2 if careless else 1), case
        assert receiver["unledgered_writes"] == (2 if careless else 0), case
        assert {"duplicate_records", "unledgered_writes"} <= codes if careless else not codes
