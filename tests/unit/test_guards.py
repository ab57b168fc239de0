"""Each guard: with it a witness situation ends safely, without it the same situation ends otherwise, and then as before."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from counterfoil.engine import sender
from counterfoil.engine.attempts import MarkInFlight
from counterfoil.engine.proposals import Prepare
from counterfoil.engine.reviews import Answer
from counterfoil.engine.steps import EndStep
from counterfoil.engine.submit import Submit
from counterfoil.model.codec import compact, payload_digest
from counterfoil.model.errors import Refused
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.rules import budget, key_window
from counterfoil.rules.gather import gather
from counterfoil.store.port import Read
from counterfoil.testing.guards import GUARDS, Guard, Replacement, remove, without
from counterfoil.testing.guards.guard import take_away
from tests.unit import opened_ledger
from tests.unit.opened_ledger import OWNER, Filled, SetClock
from tests.unit.operation_records import (
    HOUR,
    KEY,
    NO_KEY,
    OVER,
    SECOND,
    START,
    attempt,
    contract,
    facts_of,
    in_doubt,
    installation,
    keyed,
    lookup,
    operation,
    situation,
)

BUDGET: dict[str, Any] = {"attempts": 5, "elapsed_us": 48 * HOUR, "spend_micros": 3_000_000, "owner": OWNER}


def key_on_the_second_attempt(_: Path) -> bool:
    first, second = operation(attempts=0), operation(attempts=1)
    return key_window.key_of(contract(key=KEY), first, 0) == key_window.key_of(contract(key=KEY), second, 0)


def other_bytes_may_leave(_: Path) -> bool:
    return key_window.same_bytes(in_doubt(contract=keyed(other_body="identity")), "sha256:other")


def whoever_was_overtaken_writes(folder: Path) -> str:
    with opened_ledger.opened(folder) as here:
        filled = Filled(here, SetClock()).submitted().claimed()
        try:
            filled.ask(EndStep(filled.run_id, filled.fence - 1, "1", "read", {"out": 1}, here.deadlines))
        except Refused as refused:
            return refused.code
        return "written"


def late_first_byte(_: Path) -> bool:
    return sender.deadline_passed(SetClock(30), 20, 40) and sender.deadline_passed(SetClock(30), 40, 20)


def reviewed(folder: Path, then: Callable[[Filled, ReviewRecord], Any]) -> Any:
    clock = SetClock()
    with opened_ledger.opened(folder, clock=clock) as here:
        filled = Filled(here, clock).submitted().claimed()
        filled.prepared()
        return then(filled, filled.asked())


def answer(filled: Filled, review: ReviewRecord, digest: str) -> str:
    said = filled.ask(Answer(filled.run_id, review.review_id, review.operation_id, "ana", True, digest, "", False))
    return f"{said.decided} {said.review.state} {said.review.review_id == review.review_id}"


def other_digest_is_answered(folder: Path) -> str:
    return reviewed(folder, lambda filled, review: answer(filled, review, "sha256:" + "0" * 64))


def approved_then_revoked(folder: Path) -> str:
    def then(filled: Filled, review: ReviewRecord) -> str:
        answer(filled, review, review.digest)
        filled.ask(ByHand(filled.opened.installation_id, PersonRecord, "ana", revoked_at=filled.clock.now))
        return sent(filled)

    return reviewed(folder, then)


def sent(filled: Filled) -> str:
    deadline = filled.clock.now + 30 * SECOND
    verb = MarkInFlight(filled.run_id, filled.target(), filled.fence, "wrk_1", "host", "boot", "sha256:b", deadline)
    return "sent" if isinstance(filled.ask(verb), AttemptRecord) else "not sent"


def one_approval_for_two(folder: Path) -> str:
    """The same is performed again in this run; and the first question is answered a second time."""

    def then(filled: Filled, review: ReviewRecord) -> str:
        answer(filled, review, review.digest)
        filled.answered(filled.in_flight())
        intent = replace(filled._intent(business_key=None), repeatable=True)  # pyright: ignore[reportPrivateUsage]
        verb = Prepare(filled.run_id, filled.fence, "again", intent, None, {}, filled.opened.deadlines)
        again: OperationRecord = filled.ask(verb)
        filled.operation_id = again.operation_id
        what = sent(filled)
        if what == "not sent":
            filled.asked()
        return what

    return reviewed(folder, then)


def second_click(folder: Path) -> str:
    def then(filled: Filled, review: ReviewRecord) -> str:
        answer(filled, review, review.digest)
        intent = replace(filled._intent(business_key="R-8"), repeatable=True)  # pyright: ignore[reportPrivateUsage]
        other = {"number": "R-8", "amount": 9}
        intent = replace(intent, payload=compact(other), payload_digest=payload_digest(other))
        verb = Prepare(filled.run_id, filled.fence, "next", intent, None, {}, filled.opened.deadlines)
        following: OperationRecord = filled.ask(verb)
        filled.operation_id = following.operation_id
        filled.asked()
        return answer(filled, review, review.digest)

    return reviewed(folder, then)


def not_found_at_once(_: Path) -> tuple[str, ...]:
    seen = lookup("absent", OVER + SECOND)
    return facts_of(in_doubt(contract=NO_KEY, lookups=(seen,), now=OVER + 2 * SECOND), "lookup")


def repeat_after_the_window(_: Path) -> tuple[str, ...]:
    return facts_of(in_doubt(now=START + 30 * HOUR), "key")


def second_run(folder: Path, finished: bool) -> str:
    clock = SetClock()
    with opened_ledger.opened(folder, clock=clock) as here:
        first = Filled(here, clock).submitted().claimed()
        review = first.prepared() and first.asked()
        if finished:
            answer(first, review, review.digest)
            first.answered(first.in_flight())
            clock.now += SECOND  # whoever looks later
        second = Filled(here, clock, request_id="r-2").submitted().claimed()
        return "reused" if second.prepared().reused_from else "carried anew"


def carried_twice(folder: Path) -> str:
    return second_run(folder, finished=False)


def suspended(_: Path) -> tuple[str, ...]:
    return facts_of(situation(stop="suspended"), "stop")


def spent(folder: Path) -> object:
    with opened_ledger.opened(folder) as here:
        run = replace(Filled(here, SetClock()).submitted().run(), failed_tries=5)
        return budget.budget_left(BUDGET, run, run.created_at)


def submitted_again(folder: Path) -> str:
    """A run that has ended, submitted again; and an intention that has succeeded, performed again."""
    clock = SetClock()
    with opened_ledger.opened(folder, clock=clock) as here:
        filled = Filled(here, clock).submitted()
        run = filled.run()
        verb = Submit(run.run_id, run.workflow, 1, run.request_id, run.input, run.input_digest, BUDGET, here.deadlines)
        first = str(filled.ask(verb))
        filled.ask(ByHand(run.run_id, RunRecord, run.run_id, state=RunState.COMPLETED, deadline_at=None, due_at=None))
        return f"{first} {filled.ask(verb)}"


class ByHand(EndStep):
    """A row is changed by hand."""

    def __init__(self, chain: str, table: type[Any], key: str, **changes: Any) -> None:
        super().__init__(chain, 0, "1", "by hand", {}, opened_ledger.Deadlines())
        object.__setattr__(self, "data", (table, key, changes))

    def reads(self) -> list[Read]:
        return [Read.key(self.data[0], self.data[1])]

    def decide(self, tx: Any) -> None:
        table, key, changes = self.data
        tx.put(replace(tx.must(table, key), **changes))
        tx.append(self.run_id, self.kind, position="1", name="by hand", data={})


def sender_not_seen_to_end(_: Path) -> tuple[str, ...]:
    return facts_of(in_doubt(contract=NO_KEY, attempts=(attempt(sender_gone_at=None),)), "sender")


def planned_anew_after_a_restore(_: Path) -> tuple[str, ...]:
    restore = installation(incarnation=1, restore_state="finished", lost_until=START + HOUR)
    return facts_of(
        situation(operation=operation(prepared_at=START + 2 * HOUR), restore=restore, run_from=START), "sent"
    )


WITNESSES: dict[str, Callable[[Path], object]] = {
    "key-reuse": key_on_the_second_attempt,
    "request-digest": other_bytes_may_leave,
    "fence": whoever_was_overtaken_writes,
    "attempt-deadline": late_first_byte,
    "payload-digest": other_digest_is_answered,
    "approval-recheck": approved_then_revoked,
    "approval-single-use": one_approval_for_two,
    "visibility-wait": not_found_at_once,
    "window-check": repeat_after_the_window,
    "business-key": carried_twice,
    "stop-check": suspended,
    "budget-check": spent,
    "tombstone": submitted_again,
    "sender-gone": sender_not_seen_to_end,
    "lost-history": planned_anew_after_a_restore,
}
ALSO: list[tuple[str, Callable[[Path], object]]] = [
    ("approval-single-use", second_click),
    ("tombstone", lambda folder: second_run(folder, finished=True)),
]


@pytest.mark.parametrize(("name", "witness"), [*WITNESSES.items(), *ALSO])
def test_a_witness_ends_otherwise_without_it(name: str, witness: Callable[[Path], object], tmp_path: Path) -> None:
    def seen(place: str) -> object:
        (tmp_path / place).mkdir()
        return witness(tmp_path / place)

    protected = seen("with")
    with without(name):
        assert seen("without") != protected
    assert seen("again") == protected


def test_each_of_the_documented_guards_has_a_witness() -> None:
    assert list(WITNESSES) == list(GUARDS)
    for guard in GUARDS.values():
        module, _, function = guard.where.partition(":")
        assert callable(getattr(importlib.import_module(module), function))
        assert "rule" in guard.invariant or "section" in guard.invariant, "it says which rule it serves"


@pytest.mark.parametrize("name", list(GUARDS))
def test_everything_is_as_before(name: str) -> None:
    before = everything()
    with without(name):
        assert everything() != before
    assert everything() == before
    with pytest.raises(ValueError, match="stopped"), without(name):
        raise ValueError("stopped")
    assert everything() == before


def everything() -> dict[str, int]:
    """Every name of every module and class of ours, and what it stands for."""
    found: dict[str, int] = {}
    for of, module in list(sys.modules.items()):
        if of.partition(".")[0] != "counterfoil":
            continue
        for name, value in vars(module).items():
            found[f"{of}.{name}"] = id(value)
            if isinstance(value, type):
                found |= {f"{of}.{name}.{part}": id(what) for part, what in vars(value).items()}
    return found


def test_a_module_that_is_loaded_meanwhile_has_it_not_and_gets_it_back(monkeypatch: pytest.MonkeyPatch) -> None:
    late = ModuleType("counterfoil.late")
    whole = key_window.window_over
    with without("window-check"):
        exec("from counterfoil.rules.key_window import window_over", vars(late))
        monkeypatch.setitem(sys.modules, "counterfoil.late", late)
        assert late.window_over is not whole
    assert late.window_over is whole


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(Refused, match="walls"), without("walls"):
        pass
    with pytest.raises(Refused, match="walls"):
        remove("walls")


def test_removed_for_good_until_somebody_brings_it_back() -> None:
    guard = Guard("stop-check", "", (Replacement("counterfoil.rules.gather", "stop_fact", lambda _: lambda _: "none"),))
    bring_back = take_away(guard)
    try:
        assert gather(situation(stop="suspended")).stop == "none"
    finally:
        bring_back()
    assert gather(situation(stop="suspended")).stop == "suspended"


def test_only_that_protection_is_gone() -> None:
    for name in GUARDS:
        with without(name):
            stop = facts_of(situation(stop="suspended"), "stop")
            assert (stop == ("suspended",)) is (name != "stop-check"), name
            assert facts_of(situation(review_needed=True), "authority") == ("missing",), name
