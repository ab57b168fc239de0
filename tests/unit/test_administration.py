from collections.abc import Iterator
from pathlib import Path

import pytest

from counterfoil.app.secrets import fits, hashed, prove
from counterfoil.engine.administration import (
    AddPerson,
    BeginRestore,
    CloseIncident,
    FinishRestore,
    Install,
    RegisterWorker,
    ResumeWrites,
    RevokePerson,
    SuspendWrites,
    WorkerSeen,
    WorkerStopped,
    begin_restore,
)
from counterfoil.engine.advance import Advanced
from counterfoil.engine.attempts import MarkInFlight
from counterfoil.engine.lookups import RecordLookup
from counterfoil.engine.reviews import Answer
from counterfoil.engine.situation import Target
from counterfoil.model.errors import Refused
from counterfoil.model.installation import IncidentRecord, WorkerRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.operation import OperationStatus
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewState
from counterfoil.model.run import ParkReason, RunState
from counterfoil.rules.recovery import Kind
from counterfoil.store.verify import verify
from tests.unit.opened_ledger import KEYLESS, LOOKED_UP, SECRETS, START, Filled, SetClock, opened


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Filled]:
    clock = SetClock()
    with opened(tmp_path, clock=clock) as here:
        yield Filled(here, clock)
        with here.read() as reader:
            report = verify(reader)
        # Whatever a verb changed stands in the journal, attached to one of its entries.
        assert report.sound, report


def refused(filled: Filled, verb: object) -> str:
    with pytest.raises(Refused) as caught:
        filled.ask(verb)
    return caught.value.code


def approved(filled: Filled, *, by: str = "ana") -> None:
    filled.submitted().claimed().prepared()
    review = filled.asked()
    filled.ask(Answer(filled.run_id, review.review_id, filled.operation_id, by, True, review.digest, "", False))


def entries(filled: Filled, kind: EntryKind) -> list[str | None]:
    with filled.opened.read() as reader:
        return [entry.name for entry in reader.entries(filled.opened.installation_id) if entry.kind is kind]


# ---------------------------------------------------------------------- people


def test_install_makes_people_and_refuses_a_second_time(ledger: Filled) -> None:
    assert entries(ledger, EntryKind.INSTALLED) == ["refunds"]
    with ledger.opened.read() as reader:
        assert [person.name for person in reader.lists.people()] == ["ana", "eve", "oscar"]
    assert refused(ledger, Install("inst_other", "other", False, False)) == "already_initialised"


def test_a_secret_is_stored_as_a_salted_hash(ledger: Filled) -> None:
    stored = hashed("open sesame", "ab" * 16)
    assert "sesame" not in stored
    assert stored != hashed("open sesame", "cd" * 16)
    assert fits("open sesame", stored)
    assert not fits("open sesame ", stored)
    assert not fits("open sesame", "plain$open sesame")
    with ledger.opened.read() as reader:
        assert prove(reader, "ana", SECRETS["ana"]).name == "ana"
        for name, secret, code in (("ana", "x", "wrong_secret"), ("nobody", "x", "unknown_person")):
            with pytest.raises(Refused) as caught:
                prove(reader, name, secret)
            assert caught.value.code == code


def test_a_name_is_given_out_once(ledger: Filled) -> None:
    here = ledger.opened.installation_id
    added: PersonRecord = ledger.ask(AddPerson(here, "ines", ("approver",), "scrypt$00$00", "ana"))
    assert (added.name, added.stand_in_for, added.added_at) == ("ines", "ana", START)
    assert refused(ledger, AddPerson(here, "ines", (), "x")) == "person_exists"
    ledger.ask(RevokePerson(here, "ines"))
    assert refused(ledger, AddPerson(here, "ines", (), "x")) == "person_exists"
    assert refused(ledger, AddPerson(here, "new", (), "x", "nobody")) == "unknown_person"
    assert entries(ledger, EntryKind.PERSON) == ["ines", "ines"]


def test_revoking_twice_keeps_the_first_time(ledger: Filled) -> None:
    here = ledger.opened.installation_id
    first: PersonRecord = ledger.ask(RevokePerson(here, "eve"))
    ledger.clock.now += 5
    assert ledger.ask(RevokePerson(here, "eve")) == first
    assert entries(ledger, EntryKind.PERSON) == ["eve"]
    assert refused(ledger, RevokePerson(here, "nobody")) == "unknown_person"


def test_a_revoked_reviewer_authorises_nothing_any_more(ledger: Filled) -> None:
    approved(ledger)
    ledger.ask(RevokePerson(ledger.opened.installation_id, "ana"))
    ruled = ledger.ask(in_flight_verb(ledger))
    assert isinstance(ruled, Advanced)
    assert ruled.ruling.kind is Kind.OPEN_REVIEW
    assert ledger.operation().attempts == 0


def test_after_a_revocation_another_reviewer_is_asked(ledger: Filled) -> None:
    approved(ledger)
    ledger.ask(RevokePerson(ledger.opened.installation_id, "ana"))
    again = ledger.asked()
    assert (again.number, again.state) == (2, ReviewState.OPEN)


def in_flight_verb(filled: Filled, target: Target | None = None) -> MarkInFlight:
    until = filled.clock.now + 30_000_000
    return MarkInFlight(filled.run_id, target or filled.target(), filled.fence, "wrk_1", "h", "b", "sha256:b", until)


# ---------------------------------------------------------------------- writes


@pytest.mark.parametrize("scope", ["all", "receiver:bank", "operation"])
def test_a_suspension_holds_what_was_approved(ledger: Filled, scope: str) -> None:
    approved(ledger)
    here = ledger.opened.installation_id
    scope = f"operation:{ledger.operation_id}" if scope == "operation" else scope
    ledger.ask(SuspendWrites(here, scope, "ana", "the bank is on fire"))
    ruled = ledger.ask(in_flight_verb(ledger))
    assert isinstance(ruled, Advanced)
    assert ruled.ruling.kind is Kind.HOLD
    ledger.parked(ParkReason.WRITES_SUSPENDED)
    ledger.ask(ResumeWrites(here, scope, "ana", "it is out", (ledger.run_id,)))
    assert ledger.run().state is RunState.PENDING
    ledger.claimed()
    assert not isinstance(ledger.ask(in_flight_verb(ledger)), Advanced)


def test_a_suspension_elsewhere_holds_nothing(ledger: Filled) -> None:
    approved(ledger)
    ledger.ask(SuspendWrites(ledger.opened.installation_id, "receiver:crm", "ana", "slow"))
    assert not isinstance(ledger.ask(in_flight_verb(ledger)), Advanced)


def test_what_is_not_suspended_is_not_resumed(ledger: Filled) -> None:
    here = ledger.opened.installation_id
    assert refused(ledger, ResumeWrites(here, "all", "ana", "why not")) == "not_suspended"
    ledger.ask(SuspendWrites(here, "all", "ana", "fire"))
    assert refused(ledger, SuspendWrites(here, "all", "nobody", "fire")) == "unknown_person"
    ledger.ask(RevokePerson(here, "oscar"))
    assert refused(ledger, ResumeWrites(here, "all", "oscar", "out")) == "person_revoked"
    ledger.ask(ResumeWrites(here, "all", "ana", "out"))
    assert refused(ledger, ResumeWrites(here, "all", "ana", "out")) == "not_suspended"


def test_resuming_leaves_a_run_parked_for_another_reason_alone(ledger: Filled) -> None:
    ledger.submitted().claimed()
    ledger.parked(ParkReason.NO_PROGRESS)
    here = ledger.opened.installation_id
    ledger.ask(SuspendWrites(here, "all", "ana", "fire"))
    ledger.ask(ResumeWrites(here, "all", "ana", "out", (ledger.run_id,)))
    assert ledger.run().reason == "no_progress"


def test_what_forbids_sending_moves_the_marker(ledger: Filled) -> None:
    def marked() -> int:
        marker = ledger.opened.marker
        assert marker is not None
        stored = marker.read()
        return 0 if stored is None else stored.mark.in_flight_batch

    here = ledger.opened.installation_id
    before = marked()
    ledger.ask(AddPerson(here, "ines", (), "x"))
    assert marked() == before
    for verb in (SuspendWrites(here, "all", "ana", "fire"), RevokePerson(here, "oscar")):
        ledger.ask(verb)
        assert marked() > before
        before = marked()
    ledger.ask(ResumeWrites(here, "all", "ana", "out"))
    assert marked() == before


# ---------------------------------------------------------------------- incidents


def incident_in(filled: Filled) -> IncidentRecord:
    with filled.opened.read() as reader:
        return reader.lists.incidents().items[0]


def with_duplicate(filled: Filled) -> None:
    """The receiver shows two records for one operation: the table opens an incident."""
    approved(filled)
    filled.answered(filled.in_flight(), status=None)
    found = [{"reference": name, "digest": None, "receipt": {"reference": name}} for name in ("a", "b")]
    filled.ask(RecordLookup(filled.run_id, filled.target(), filled.clock.now, 1, found, True, None))
    filled.parked(ParkReason.DUPLICATE_FOUND)


def test_an_incident_is_closed_once_by_somebody_else_than_the_reviewer(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=LOOKED_UP) as here:
        filled = Filled(here, clock, contract=LOOKED_UP)
        with_duplicate(filled)
        incident = incident_in(filled)

        def closing(by: str) -> CloseIncident:
            return CloseIncident(filled.run_id, incident.incident_id, filled.operation_id, by, "one was deleted there")

        assert refused(filled, closing("ana")) == "own_action"
        assert refused(filled, closing("eve")) == "role_missing"
        assert refused(filled, closing("nobody")) == "unknown_person"
        clock.now += 5
        filled.ask(closing("oscar"))
        closed = incident_in(filled)
        assert (closed.closed_at, closed.closed_by, closed.reason) == (clock.now, "oscar", "one was deleted there")
        assert filled.run().state is RunState.PENDING
        assert refused(filled, closing("oscar")) == "incident_closed"


def test_a_single_person_closes_alone(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=LOOKED_UP, single_person=True) as here:
        filled = Filled(here, clock, contract=LOOKED_UP)
        with_duplicate(filled)
        incident = incident_in(filled)
        filled.ask(CloseIncident(filled.run_id, incident.incident_id, filled.operation_id, "ana", "mine alone"))
        assert incident_in(filled).closed_by == "ana"


# ---------------------------------------------------------------------- restores


def begun(filled: Filled, recognised_by: str = "behind", outside: int = 0) -> int:
    with filled.opened.read() as reader:
        verb = begin_restore(reader, recognised_by, outside_incarnation=outside)
    return filled.ask(verb)


def finished(filled: Filled, as_: str = "restored") -> None:
    with filled.opened.read() as reader:
        verb = FinishRestore.over(
            reader, filled.opened.installation_id, as_, "oscar", "the backup of Monday", (filled.run_id,)
        )
    filled.ask(verb)


def test_a_restore_makes_every_open_operation_maybe_sent(ledger: Filled) -> None:
    approved(ledger)
    before = ledger.operation()
    assert before.sent == 0
    ledger.clock.now += 5
    assert begun(ledger) == 1
    operation = ledger.operation()
    assert (operation.sent, operation.version) == (1, before.version + 1)
    assert (
        operation.first_sent_at == ledger.clock.now - 5
    )  # since the restored head: when the last thing it knows was stored
    assert [review.void for review in ledger.reviews()] == ["restored"]
    ruled = ledger.ask(in_flight_verb(ledger))
    assert isinstance(ruled, Advanced)
    assert ruled.ruling.kind not in (Kind.SEND, Kind.REPEAT)


def test_a_restore_leaves_closed_operations_alone(ledger: Filled) -> None:
    approved(ledger)
    ledger.answered(ledger.in_flight())
    closed = ledger.operation()
    assert closed.status is OperationStatus.SUCCEEDED
    begun(ledger)
    assert ledger.operation() == closed


def test_the_verb_itself_leaves_alone_what_was_closed_meanwhile(ledger: Filled) -> None:
    approved(ledger)
    attempt = ledger.in_flight()
    with ledger.opened.read() as reader:
        verb = begin_restore(reader, "behind")
    assert verb.operations == (ledger.operation_id,)
    ledger.answered(attempt)
    closed = ledger.operation()
    ledger.ask(verb)
    assert ledger.operation() == closed


def test_a_restore_supersedes_an_open_review(ledger: Filled) -> None:
    ledger.submitted().claimed().prepared()
    ledger.asked()
    begun(ledger)
    assert [(review.state, review.void) for review in ledger.reviews()] == [(ReviewState.SUPERSEDED, "restored")]


def test_the_incarnation_rises_above_the_marker(ledger: Filled) -> None:
    assert begun(ledger, outside=7) == 8
    finished(ledger.submitted())
    assert begun(ledger, outside=3) == 9
    ledger.claimed()
    assert ledger.fence >> 40 == 9  # no fence from before is ever reached again


def test_a_restore_is_finished_once_and_wakes_what_was_parked_for_it(ledger: Filled) -> None:
    approved(ledger)
    begun(ledger)
    ledger.parked(ParkReason.RESTORED)
    ledger.clock.now += 50
    finished(ledger)
    installation = ledger.opened.installation()
    assert installation.restore_state == "finished"
    # What was derived while it was open counts as derived before it was finished.
    assert installation.restore_at == ledger.clock.now
    assert ledger.run().state is RunState.PENDING
    assert entries(ledger, EntryKind.RESTORE) == ["begun", "finished"]
    with pytest.raises(Refused) as caught:
        finished(ledger)
    assert caught.value.code == "no_restore"


def test_after_a_restore_a_keyless_operation_is_not_sent_again(tmp_path: Path) -> None:
    clock = SetClock()
    with opened(tmp_path, clock=clock, contract=KEYLESS) as here:
        filled = Filled(here, clock, contract=KEYLESS)
        approved(filled)
        begun(filled)
        finished(filled)
        operation = filled.advanced()
        assert operation.status is OperationStatus.UNKNOWN
        assert operation.reason == ParkReason.OUTCOME_UNKNOWN


def test_a_clone_never_acts_on_what_it_did_not_prepare(ledger: Filled) -> None:
    approved(ledger)
    begun(ledger, "copied")
    finished(ledger, "clone")
    assert ledger.operation().withdrawn == "this is a clone"
    ruled = ledger.ask(in_flight_verb(ledger))
    assert isinstance(ruled, Advanced)
    assert ruled.ruling.kind is Kind.ASK_PERSON


def test_a_copy_does_not_move_the_marker_of_its_original(ledger: Filled) -> None:
    marker = ledger.opened.marker
    assert marker is not None
    ledger.ask(SuspendWrites(ledger.opened.installation_id, "all", "ana", "fire"))
    before = marker.read()
    assert before is not None
    begun(ledger, "copied")
    assert marker.read() == before
    begun(ledger, "behind")
    assert marker.read() != before


def test_a_restore_by_a_person_names_one(ledger: Filled) -> None:
    here = ledger.opened.installation_id
    assert refused(ledger, BeginRestore(here, "nobody: it is old", by="nobody")) == "unknown_person"
    ledger.ask(BeginRestore(here, "ana: it is old", by="ana"))
    assert ledger.opened.installation().restore_reason == "ana: it is old"


# ---------------------------------------------------------------------- workers


def test_a_worker_is_registered_seen_and_stopped(ledger: Filled) -> None:
    def worker() -> WorkerRecord:
        with ledger.opened.read() as reader:
            return reader.lists.workers()[0]

    assert refused(ledger, WorkerSeen("wrk_9")) == "not_found"
    ledger.ask(RegisterWorker("wrk_9", "host", "boot", 4711, {"refund": [1, 2]}))
    assert (worker().versions, worker().started_at, worker().draining) == ('{"refund":[1,2]}', START, 0)
    ledger.clock.now += 5
    ledger.ask(WorkerSeen("wrk_9", draining=True))
    assert (worker().seen_at, worker().draining, worker().stopped_at) == (START + 5, 1, None)
    ledger.ask(WorkerStopped("wrk_9"))
    assert worker().stopped_at == START + 5
