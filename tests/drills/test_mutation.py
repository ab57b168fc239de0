"""Guard mutation notices every guard of `counterfoil guards`, and says so where nothing notices."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.cli.drill_mutating import spelled
from counterfoil.cli.main import main
from counterfoil.drills.case import Planned
from counterfoil.drills.mutation import TELLING, Ground, battery, guards_named, mutate, telling
from counterfoil.model.errors import Refused
from counterfoil.testing.guards import GUARDS

APP = "counterfoil.drills.battery:app"
CASE = Planned(workflow="keyed", boundary="operation.replied#1", fault="kill-after")


@pytest.mark.timeout(300)
def test_every_guard_is_missed_by_a_telling_case_that_passes_with_it() -> None:
    """One test, so that two workers of the test run do not both play it."""
    mutated = mutate(battery(), list(GUARDS))
    assert [each["guard"] for each in mutated.guards] == list(GUARDS) == list(TELLING)
    assert not mutated.uncaught
    passing = {case["case_id"]: case for case in mutated.cases}
    for each in mutated.guards:
        (noticed,) = each["caught_by"]
        assert passing[noticed]["verdict"] == "pass" and passing[noticed]["applied"]["proof"]
        assert telling([planned(noticed)], each["guard"]), (
            f"{each['guard']}: its declared cases found it, not the search"
        )


def planned(case_id: str) -> Planned:
    workflow, boundary, fault = case_id.split("/")
    fault, _, variant = fault.partition(":")
    return Planned(workflow=workflow, boundary=boundary, fault=fault, variant=variant or None)


@pytest.mark.timeout(120)
def test_a_guard_that_nothing_needs_is_reported() -> None:
    from tests.drills.fake_guard import CHARM, NAME

    GUARDS.pop(NAME, None)  # known to the children alone
    whole = battery()
    keyed = next(scenario for scenario in whole.scenarios if scenario.workflow == "keyed")
    few = replace(
        whole, scenarios=(replace(keyed, only=("kill-after",)),), modules=(*whole.modules, "tests.drills.fake_guard")
    )
    found = mutate(few, [CHARM.guard, "key-reuse"])
    assert found.uncaught == [NAME]
    assert found.guards == [
        {"guard": NAME, "caught_by": []},
        {"guard": "key-reuse", "caught_by": ["keyed/operation.replied#1/kill-after"]},
    ]


class Played:
    """An ensemble whose verdicts are given."""

    def __init__(self, without: str, whole: str) -> None:
        self.verdicts = {"without": without, "whole": whole}

    def play(self, cases: list[Planned], learned: Any, *, without: str | None = None) -> list[dict[str, Any]]:
        verdict = self.verdicts["whole" if without is None else "without"]
        return [{"case_id": case.case_id, "verdict": verdict} for case in cases]


@pytest.fixture
def ground() -> Ground:
    return Ground(battery(), players=0, seed=0)


@pytest.mark.parametrize(
    ("without", "whole", "noticed"),
    [
        ("fail", "pass", True),
        ("fail", "fail", False),
        ("fail", "not_applicable", False),
        ("pass", "pass", False),
        ("not_run", "pass", False),
    ],
)
def test_only_a_failure_because_of_the_removal_counts(ground: Ground, without: str, whole: str, noticed: bool) -> None:
    ensemble: Any = Played(without, whole)
    ground._free.put(ensemble)  # pyright: ignore[reportPrivateUsage]
    assert (ground.missed("fence", CASE) is not None) is noticed


def test_an_unknown_guard_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(Refused):
        guards_named("walls")
    assert guards_named("fence") == ["fence"] and guards_named(None) == list(GUARDS)
    assert main(["drill", "keyed", "--app", APP, "--mutate", "walls", "--json"]) == 4
    assert json.loads(capsys.readouterr().out)["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        (["drill", "shop", "--mutate"], ["drill", "shop", "--mutate=all"]),
        (["drill", "shop", "--mutate", "--json"], ["drill", "shop", "--mutate=all", "--json"]),
        (["drill", "shop", "--mutate", "fence"], ["drill", "shop", "--mutate", "fence"]),
        (["drill", "shop", "--mutate=fence"], ["drill", "shop", "--mutate=fence"]),
        (["reviews", "reject", "--comment", "--mutate"], ["reviews", "reject", "--comment", "--mutate"]),
    ],
)
def test_all_guards_where_none_is_named(typed: list[str], read: list[str]) -> None:
    assert spelled(typed) == read


@pytest.mark.timeout(120)
def test_by_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["drill", "named", "--app", APP, "--mutate", "business-key", "--jobs", "1", "--json"]) == 0
    data = SimpleNamespace(**json.loads(capsys.readouterr().out)["data"])
    assert data.guards == [{"guard": "business-key", "caught_by": ["named/run.submitted#1/kill-after"]}]
    (case,) = data.cases
    assert case["verdict"] == "pass" and data.summary["passed"] == 1
