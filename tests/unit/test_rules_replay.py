"""What a journal says of each position: recorded, open, to execute, or asked for by other code."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from counterfoil.model.journal import EntryKind
from counterfoil.rules.replay import Journal, Outcome

ENDS = ["step", "step_failed", "decision", "fired", "received", "message", "document", "proposal"]
OPENS = ["prepared", "timer", "child", "asked"]

Told = tuple[str, str | None, str | None, dict[str, Any]]  # kind, position, name, data


def journal(*entries: Told) -> Journal:
    """Entry n has sequence n and time 100 + n."""
    made = Journal()
    for n, (kind, position, name, data) in enumerate(entries):
        made.fold(n, EntryKind(kind), position, name, data, 100 + n)
    return made


def closed(operation: str = "op_1") -> Told:
    return "closed", None, None, {"operation_id": operation, "status": "failed"}


def answer(
    decision: str = "reject", matched: str = "now", kind: str = "first", version: int = 1, what: str = "answer"
) -> Told:
    facts = {
        "operation_id": "op_1",
        "version": version,
        "review_id": "rev_1",
        "kind": kind,
        "matched": matched,
        "decision": decision,
    }
    return what, None, None, facts


def expired(kind: str = "first", version: int = 1) -> Told:
    return "expired", None, None, {"operation_id": "op_1", "version": version, "review_id": "rev_1", "kind": kind}


def test_an_empty_journal_asks_for_everything_to_be_executed() -> None:
    empty = journal()
    assert (empty.seen, empty.order, empty.ended) == (-1, [], {})
    assert empty.mismatch("0", "step a", "sha256:1") is None


@pytest.mark.parametrize("kind", ENDS)
def test_an_outcome_is_given_back_at_its_position(kind: str) -> None:
    data = {"in": "sha256:1", "out": 7}
    told = journal(("started", None, None, {}), (kind, "0", "a", data))
    assert told.ended == {"0": Outcome(1, 101, data)}
    assert (told.order, told.seen, told.opened) == ([1], 1, {})


def test_a_final_failure_is_an_outcome_too() -> None:
    failure = {"type": "StepFailed", "code": "no", "message": "no"}
    told = journal(("step_failed", "0", "a", {"failure": failure}))
    assert told.ended["0"].failure == failure


@pytest.mark.parametrize("kind", OPENS)
def test_what_was_opened_has_not_ended(kind: str) -> None:
    told = journal((kind, "0", "a", {"in": "sha256:1", "until": 5}))
    opened = told.opened["0"]
    assert (opened.kind, opened.name, opened.data["until"], opened.sequence, opened.at) == (kind, "a", 5, 0, 100)
    assert (told.ended, told.order) == ({}, [])


def test_tries_lost_calls_and_questions_are_counted_by_position() -> None:
    tries: list[Told] = [("try_failed", "0", "a", {}), ("try_failed", "0", "a", {}), ("try_failed", "1", "b", {})]
    asked: list[Told] = [(kind, "2", "c", {}) for kind in ("asked", "lost", "asked", "lost", "asked")]
    told = journal(*tries, *asked)
    assert told.tries == {"0": 2, "1": 1}
    assert told.last_try_at == {"0": 101, "1": 102}
    assert (told.asked, told.lost) == ({"2": 3}, {"2": 2})
    assert told.order == []


def test_a_call_that_was_drawn_is_drawn_once() -> None:
    assert journal(("drawn", "2.0.1", "tool look", {})).drawn == {"2.0.1"}


@pytest.mark.parametrize("kind", ["classified", "in_flight", "late"])
def test_what_else_happened_at_a_position_names_the_call_and_ends_nothing(kind: str) -> None:
    told = journal((kind, "0", "perform send", {"in": "d1"}))
    assert told.mismatch("0", "perform other", None) == ("perform send d1", "perform other")
    assert (told.ended, told.opened, told.order) == ({}, {}, [])


MISMATCHES = {
    "the same": ("0", "a", "d1", None),
    "nothing recorded there": ("1", "b", "d2", None),
    "no digest asked": ("0", "a", None, None),
    "other input": ("0", "a", "d2", ("a d1", "a d2")),
    "other name": ("0", "b", "d1", ("a d1", "b d1")),
    "other name, no digest": ("0", "b", None, ("a d1", "b")),
}


@pytest.mark.parametrize("name", MISMATCHES)
def test_replay_compares_name_and_input(name: str) -> None:
    position, called, digest, found = MISMATCHES[name]
    assert journal(("step", "0", "a", {"in": "d1"})).mismatch(position, called, digest) == found


def test_a_record_without_a_digest_fits_any_input() -> None:
    assert journal(("step", "0", "a", {})).mismatch("0", "a", "d1") is None
    assert journal(("step", "0", None, {})).mismatch("0", "a", "d1") == ("", "a d1")


def test_a_later_entry_of_a_call_does_not_take_its_digest_away() -> None:
    told = journal(("timer", "0", "a", {"in": "d1"}), ("fired", "0", "a", {}))
    assert told.mismatch("0", "a", "d2") == ("a d1", "a d2")


def test_a_closed_operation_is_an_outcome_under_its_id_and_the_first_one_counts() -> None:
    told = journal(closed(), closed(), closed("op_2"))
    assert {key: outcome.sequence for key, outcome in told.closings.items()} == {"op_1": 0, "op_2": 2}
    assert told.order == [0, 2]


VERDICTS: dict[str, tuple[Told, dict[str, str] | None]] = {
    "rejected": (answer(), {"rejected": "rev_1"}),
    "withdrawn": (answer(what="withdrawn"), {"rejected": "rev_1"}),
    "expired": (expired(), {"expired": "rev_1"}),
    "approved": (answer("approve"), None),
    "a second answer": (answer(matched="earlier"), None),
    "an answer to another digest": (answer(matched="other_digest"), None),
    "a renewal rejected leaves the doubt": (answer(kind="renewal"), None),
    "a renewal expired leaves the doubt": (expired("renewal"), None),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_what_a_person_said_of_a_version(name: str) -> None:
    entry, failure = VERDICTS[name]
    told = journal(entry)
    assert {key: [outcome.failure for outcome in said] for key, said in told.verdicts.items()} == (
        {("op_1", 1): [failure]} if failure else {}
    )
    assert told.order == ([0] if failure else [])


def test_each_version_has_its_own_verdicts_in_order() -> None:
    told = journal(answer(version=1), expired(version=1), answer(version=2))
    sequences = {key: [outcome.sequence for outcome in said] for key, said in told.verdicts.items()}
    assert sequences == {("op_1", 1): [0, 1], ("op_1", 2): [2]}
    said = [told.verdict("op_1", version, "9") for version in (1, 2, 3)]
    assert [outcome and outcome.sequence for outcome in said] == [0, 2, None]


def test_an_expiry_is_told_to_the_call_that_waited_and_a_rejection_to_every_call() -> None:
    opened = ("prepared", "2", "pay", {"in": "d", "operation_id": "op_1", "version": 1})
    again = ("prepared", "3", "pay", {"in": "d", "operation_id": "op_1", "version": 1})
    told = journal(opened, expired(version=1), again)
    first, second = told.verdict("op_1", 1, "2"), told.verdict("op_1", 1, "3")
    assert first is not None and first.sequence == 1 and second is None
    rejected = journal(opened, answer(version=1), again)
    assert all(rejected.verdict("op_1", 1, position) is not None for position in ("2", "3"))


@pytest.mark.parametrize("ending", [("step_failed", "0", "a", {"failure": {"code": "no"}}), closed(), expired()])
def test_a_resumed_park_forgets_the_failure_it_was_parked_for(ending: Told) -> None:
    parked, resumed = ("parked", None, None, {"void": 1}), ("resumed", None, None, {})
    told = journal(("try_failed", "0", "a", {}), ending, parked)
    assert told.order == [1]  # a park alone forgets nothing: the outcome is what it was parked for
    told = journal(("try_failed", "0", "a", {}), ending, parked, resumed)
    assert (told.ended, told.closings, any(told.verdicts.values()), told.order) == ({}, {}, False, [])
    assert told.tries == ({} if ending[0] == "step_failed" else {"0": 1})
    assert told.mismatch("0", "b", None) is not None  # what the code asked for is still compared


def test_a_resumed_call_is_opened_anew() -> None:
    failed = ("step_failed", "0", "a", {"failure": {"code": "no"}})
    told = journal(("timer", "0", "a", {}), failed, ("parked", None, None, {"void": 1}), ("resumed", None, None, {}))
    assert told.opened == {}


def test_a_park_without_a_failure_forgets_nothing_and_one_resume_forgets_once() -> None:
    failed = ("step_failed", "0", "a", {"failure": {"code": "no"}})
    resumed: Told = ("resumed", None, None, {})
    assert journal(failed, ("parked", None, None, {}), resumed).order == [0]
    assert journal(failed, resumed).order == [0]
    told = journal(failed, ("parked", None, None, {"void": 0}), resumed, failed, resumed)
    assert told.ended["0"].sequence == 3  # the second failure was never parked for
    assert told.order == [3]


def test_forgetting_what_is_no_outcome_changes_nothing() -> None:
    told = journal(("step", "0", "a", {}))
    told.forget(9)
    assert (told.order, [*told.ended]) == ([0], ["0"])


ENTRY = st.one_of(
    st.tuples(
        st.sampled_from(ENDS + OPENS + ["try_failed", "lost"]),
        st.sampled_from("012"),
        st.just("a"),
        st.just({"in": "d"}),
    ),
    st.sampled_from(
        [closed(), closed("op_2"), answer(), answer(version=2), answer("approve"), expired(), expired("renewal")]
    ),
    st.tuples(
        st.just("parked"), st.none(), st.none(), st.builds(lambda void: {"void": void}, st.integers(0, 9) | st.none())
    ),
    st.just(("resumed", None, None, dict[str, Any]())),
)


@given(st.lists(ENTRY, max_size=25))
def test_outcomes_are_released_in_journal_order_and_each_once(entries: list[Told]) -> None:
    told = journal(*entries)
    assert told.order == sorted(set(told.order))
    kept = {outcome.sequence for outcomes in (told.ended, told.closings) for outcome in outcomes.values()}
    kept |= {outcome.sequence for said in told.verdicts.values() for outcome in said}
    assert kept <= set(told.order)
    assert told.seen == len(entries) - 1


@given(st.lists(ENTRY, max_size=25), st.integers(0, 25))
def test_folding_in_two_parts_is_folding_at_once(entries: list[Told], cut: int) -> None:
    """A worker reads what others appended while it ran: the same journal, whenever it looks."""
    told = journal(*entries[:cut])
    for n, (kind, position, name, data) in enumerate(entries[cut:], len(entries[:cut])):
        told.fold(n, EntryKind(kind), position, name, data, 100 + n)
    assert told == journal(*entries)


def test_what_the_last_try_failed_of_is_known() -> None:
    tried = ("try_failed", "1", "look", {"in": "x", "problem": "no route"})
    assert journal(tried).problems == {"1": "no route"}
    assert journal(tried, ("try_failed", "1", "look", {"in": "x", "problem": "no answer"})).problems == {
        "1": "no answer"
    }
    assert journal(("looked_up", "1", "look", {"in": "x"})).problems == {}
