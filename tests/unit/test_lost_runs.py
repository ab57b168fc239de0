"""After a restore, by verbs: what a run of before plans, what its child plans, and what a run does that only the outside knows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from counterfoil.engine.advance import Advance, Advanced
from counterfoil.engine.restoring import FinishRestore, begin_restore
from counterfoil.engine.reviews import Answer
from counterfoil.engine.submit import Submit
from counterfoil.model import ids
from counterfoil.model.installation import InstallationRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.recovery import Kind
from counterfoil.store.verify import verify
from tests.unit.opened_ledger import KEYLESS, SECOND, Filled, SetClock, opened

FINISHED = 200 * SECOND  # how long after the restored head a person finished it


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Filled]:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=KEYLESS) as here:
        yield Filled(here, clock, contract=KEYLESS)
        with here.read() as reader:
            assert verify(reader).sound


def restored(ledger: Filled, as_: str = "restored", named: tuple[str, ...] = ()) -> InstallationRecord:
    """This database was put back, and a person finished that later."""
    begin = ledger.clock.now
    ledger.clock.now = begin + FINISHED - SECOND
    here = ledger.opened.installation_id
    with ledger.opened.read() as reader:
        verb = begin_restore(reader, "copied" if as_ == "clone" else "behind")
    ledger.ask(verb)
    ledger.clock.now = begin + FINISHED
    with ledger.opened.read() as reader:
        finish = FinishRestore.over(reader, here, as_, "oscar", "the backup of Monday", (), named)
    ledger.ask(finish)
    ledger.clock.now += SECOND
    return ledger.opened.installation()


def planned(ledger: Filled) -> OperationRecord:
    """What the run plans now, in whatever words."""
    ledger.claimed().prepared()
    return ledger.operation()


def table(ledger: Filled) -> Advanced:
    """What the recovery table says of it now."""
    ruled = ledger.ask(Advance(ledger.run_id, ledger.target()))
    assert isinstance(ruled, Advanced)
    return ruled


def test_a_run_of_before_plans_what_may_have_been_sent(ledger: Filled) -> None:
    ledger.submitted()
    installation = restored(ledger)
    operation = planned(ledger)
    assert (operation.sent, operation.first_sent_at) == (1, installation.restored_head_at)
    assert operation.prepared_at > (installation.restore_at or 0)
    ruled = table(ledger)
    assert ruled.ruling.kind is Kind.ASK_PERSON, "no key and no lookup: nobody can know"


def test_a_database_that_was_only_moved_has_lost_nothing(ledger: Filled) -> None:
    ledger.submitted()
    installation = restored(ledger, "moved")
    assert installation.restore_state == "finished"
    assert planned(ledger).sent == 0


def test_a_run_of_after_plans_something_new(ledger: Filled) -> None:
    restored(ledger)
    operation = planned(ledger.submitted())
    assert (operation.sent, operation.first_sent_at) == (0, None)
    assert table(ledger).ruling.kind is Kind.OPEN_REVIEW


def test_a_run_that_is_submitted_while_it_is_open_may_have_been_there(ledger: Filled) -> None:
    with ledger.opened.read() as reader:
        verb = begin_restore(reader, "behind")
    ledger.ask(verb)
    ledger.submitted()
    restored_at = ledger.clock.now
    with ledger.opened.read() as reader:
        finish = FinishRestore.over(reader, ledger.opened.installation_id, "restored", "oscar", "it is old", ())
    ledger.ask(finish)
    ledger.clock.now = restored_at + SECOND
    assert planned(ledger).sent == 1


def test_a_run_that_only_the_outside_knows_is_submitted_again(ledger: Filled) -> None:
    here = ledger.opened.installation_id
    lost = ids.run_id(here, "refund", ledger.request_id)
    installation = restored(ledger, named=(lost, here))
    operation = planned(ledger.submitted())
    assert ledger.run().known_from == installation.restored_head_at
    assert (operation.sent, operation.first_sent_at) == (1, installation.restored_head_at)
    other = Filled(ledger.opened, ledger.clock, contract=KEYLESS, request_id="r-2", positions=9)
    assert planned(other.submitted()).sent == 0, "another request is new"


@pytest.mark.parametrize("as_", ["restored", "clone"])
def test_a_child_has_the_identities_that_its_parents_child_had(ledger: Filled, as_: str) -> None:
    """Its run id is made of its parent's, also where it is begun long after the restore."""
    ledger.submitted()
    restored(ledger, as_)
    parent = ledger.run()
    child = Filled(ledger.opened, ledger.clock, contract=KEYLESS, request_id="child of r-1")
    begin_child(child, parent)
    operation = planned(child)
    assert operation.sent == 1 and child.run().known_from == parent.created_at
    assert operation.withdrawn == ("this is a clone" if as_ == "clone" else None)


def begin_child(child: Filled, parent: RunRecord) -> None:
    child.run_id = ids.run_id(child.opened.installation_id, "refund", child.request_id)
    budget = {"attempts": 5, "elapsed_us": 1, "spend_micros": 0, "owner": {"name": "ops", "then": None, "within_us": 1}}
    verb = Submit(child.run_id, "refund", 1, child.request_id, "{}", "sha256:0", budget, child.opened.deadlines)
    assert child.ask(replace(verb, parent_run_id=parent.run_id, parent_position="1")) == "new"


def test_in_a_clone_a_run_of_before_is_its_originals_also_in_what_it_plans_later(ledger: Filled) -> None:
    ledger.submitted()
    restored(ledger, "clone")
    assert planned(ledger).withdrawn == "this is a clone"
    assert table(ledger).ruling.kind is Kind.ASK_PERSON
    restored(ledger)  # the clone itself is restored later: those runs are its original's still
    other = Filled(ledger.opened, ledger.clock, contract=KEYLESS, request_id="r-2", positions=9)
    assert planned(other.submitted()).withdrawn is None


def test_a_run_is_named_outside_before_anything_leaves_for_it(ledger: Filled) -> None:
    """It neither parked nor ended: after a restore nothing else would say that it ever was."""
    marker = ledger.opened.marker
    assert marker is not None
    ledger.submitted().claimed().prepared()
    review = ledger.asked()
    ledger.ask(Answer(ledger.run_id, review.review_id, ledger.operation_id, "ana", True, review.digest, "", False))
    assert ledger.run_id not in [head.run_id for head in marker.heads()]
    ledger.in_flight()
    (head,) = [head for head in marker.heads() if head.run_id == ledger.run_id]
    run = ledger.run()
    assert (head.sequence, head.head) == (run.sequence, run.head)
