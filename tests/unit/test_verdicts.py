"""Which decision an operation rests on, and what that says of it: over histories written by hand."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

from counterfoil.app.decision_usage import calls_in
from counterfoil.app.views.decision import Around, decided_in
from counterfoil.app.views.verdict import made_in, verdicts_of
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.run import RunState


def run_record(state: str = "running") -> Any:
    """Of a run these functions read its id and its state."""
    return SimpleNamespace(run_id="run_1", state=RunState(state))


class History:
    """Entries in the order in which they are named."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, kind: EntryKind, position: str | None, name: str = "", **data: Any) -> "History":
        sequence = len(self.entries)
        body = json.dumps({"data": data})
        self.entries.append(Entry("run_1", sequence, kind, position, name, body, sequence, b""))
        return self

    def decide(self, position: str, agent: str = "judge", *, turn: bool = False, **data: Any) -> "History":
        self.add(EntryKind.ASKED, position, f"decide {agent}", **({"keep": 0} if turn else {}))
        return self.add(EntryKind.DECISION, position, f"decide {agent}", output=position, **data)

    def propose(self, position: str, operation: str = "op_1", version: int = 1) -> "History":
        return self.add(EntryKind.PROPOSAL, position, "pay", operation_id=operation, version=version)

    def rests_on(self) -> dict[str, list[str]]:
        """By operation and version: the positions of the decisions that it rests on."""
        decisions = decided_in(self.entries)
        places = {each.sequence: each.position for each in decisions}
        made = made_in(Around(self.entries, (), (), ()), decisions)
        return {f"{m.operation_id}/{m.version}": sorted(places[s] for s in m.rests_on) for m in made}

    def verdicts(self) -> dict[str, list[str]]:
        """By the position of a decision: what is said of it, without reviews."""
        decisions = decided_in(self.entries)
        around = Around(self.entries, (), (), ())
        made = made_in(around, decisions)
        views = {each.position: verdicts_of(run_record(), each, around, decisions, made) for each in decisions}
        return {position: [each["how"] for each in view["verdicts"]] for position, view in views.items()}


def test_an_operation_rests_on_what_was_decided_since_the_one_before() -> None:
    history = History().decide("1").decide("2", "drafter").propose("3").decide("4").propose("5", "op_2")
    assert history.rests_on() == {"op_1/1": ["1", "2"], "op_2/1": ["4"]}


def test_two_operations_rest_on_one_decision() -> None:
    history = History().decide("1").propose("2").propose("3", "op_2")
    assert history.rests_on() == {"op_1/1": ["1"], "op_2/1": ["1"]}


def test_what_is_prepared_after_it_was_proposed_is_one_version() -> None:
    history = History().decide("1").propose("2").decide("3")
    history.add(EntryKind.PREPARED, "4", "pay", operation_id="op_1", version=1)
    assert history.rests_on() == {"op_1/1": ["1"]}


def test_what_is_performed_without_a_proposal_rests_on_decisions_too() -> None:
    history = History().decide("1").add(EntryKind.PREPARED, "2", "pay", operation_id="op_1", version=1)
    assert history.rests_on() == {"op_1/1": ["1"]}


def test_nothing_rests_on_what_was_decided_later_or_beside() -> None:
    history = (
        History().propose("1").decide("2.0.1").propose("2.1.1", "op_2").propose("2.0.2", "op_3").propose("3", "op_4")
    )
    assert history.rests_on() == {"op_1/1": [], "op_2/1": [], "op_3/1": ["2.0.1"], "op_4/1": []}


def test_a_branch_rests_on_what_was_decided_around_it() -> None:
    history = History().decide("1").decide("2.0.1", "drafter").propose("2.0.2").propose("2.1.1", "op_2")
    assert history.rests_on() == {"op_1/1": ["1", "2.0.1"], "op_2/1": ["1"]}


def test_a_tools_call_rests_on_the_answer_that_called_it() -> None:
    history = History().decide("1", turn=True).decide("2", turn=True).propose("2.0.1").propose("2.1.1", "op_2")
    history.decide("3", turn=True).propose("3.0.1", "op_3")
    assert history.rests_on() == {"op_1/1": ["2"], "op_2/1": ["2"], "op_3/1": ["3"]}


def test_a_revision_takes_the_place_of_what_it_revises() -> None:
    history = History().decide("1").decide("2", revises="1", reason="too much").propose("3")
    assert history.rests_on() == {"op_1/1": ["2"]}
    assert history.verdicts() == {"1": ["revise"], "2": []}


def test_the_next_version_corrects_the_decision_before() -> None:
    history = History().decide("1").propose("2").decide("3", revises="1").propose("4", version=2)
    assert history.verdicts() == {"1": ["proposal", "revise"], "3": []}


def test_a_version_without_a_new_decision_corrects_the_one_it_rests_on() -> None:
    assert History().decide("1").propose("2").propose("3", version=2).verdicts() == {"1": ["proposal"]}


@pytest.mark.parametrize("agent", ["judge", "other"])
def test_only_the_same_agent_revises(agent: str) -> None:
    history = History().decide("1").decide("2", agent, revises="1")
    assert history.verdicts()["1"] == (["revise"] if agent == "judge" else [])


def test_each_call_has_one_end() -> None:
    """Lost calls are told before the next is asked; a failed one is tried again; a step that failed is no call."""
    history = History().add(EntryKind.ASKED, "1", "decide judge", model="m").add(EntryKind.LOST, "1", "decide judge")
    history.add(EntryKind.ASKED, "1", "decide judge").add(EntryKind.TRY_FAILED, "1", "decide judge")
    history.add(EntryKind.TRY_FAILED, "2", "a step").decide("1").add(EntryKind.ASKED, "3", "ask judge")
    assert [call.ended for call in calls_in(run_record(), history.entries)] == ["lost", "failed", "decisions", "open"]
    assert decided_in(history.entries)[0].lost == 1


def test_a_call_that_nobody_waits_for_any_more_is_lost() -> None:
    history = History().add(EntryKind.ASKED, "1", "decide judge")
    (call,) = calls_in(run_record(state="cancelled"), history.entries)
    assert (call.ended, call.agent) == ("lost", "judge")
