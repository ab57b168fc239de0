"""The scene: one reviewed operation of one run, and what is read from its rows. All of it is made by the real verbs."""

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any, TypeVar

from counterfoil.engine.administration import Install, NewPerson
from counterfoil.engine.proposals import Intent
from counterfoil.engine.situation import Target, newest_review, situation_in, target_of
from counterfoil.engine.submit import Submit
from counterfoil.engine.verb import Deadlines, RunVerb
from counterfoil.model import ids
from counterfoil.model.codec import compact, digest_of
from counterfoil.model.installation import IncidentRecord, InstallationRecord, SuspensionRecord
from counterfoil.model.operation import AttemptRecord, OperationRecord
from counterfoil.model.people import Owner, PersonRecord, owner_facts
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.gather import next_look_at
from counterfoil.rules.key_window import repeat_until
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction
from counterfoil.testing.explore.alike import DAY_US, FENCE, REVIEW_US, START, swapped
from counterfoil.testing.explore.kinds import SECOND, Kind
from counterfoil.testing.explore.ledger import Applied, Book, Rows, each
from counterfoil.testing.explore.state import State, Worker

T = TypeVar("T")

INSTALLATION = "inst_explored"
RUN_ID = ids.run_id(INSTALLATION, "explored", "request-1")
POSITION, NAME, BUSINESS_KEY = "1", "write", "here\x1fwrite\x1frequest-1"
SCOPE = "sha256:scope"
ROLE, OPERATOR, REVIEWERS = "approver", "oscar", ("ana", "ben")
OWNER = owner_facts(Owner(OPERATOR, within=timedelta(days=1)))
REVIEW: dict[str, Any] = {"role": ROLE, "expires_us": REVIEW_US, "owner": OWNER, "approvals": 1}
DEADLINES = Deadlines(pending=DAY_US, running=DAY_US, lease=30 * SECOND)
TRIES = 4
BUDGET: dict[str, Any] = {"attempts": TRIES, "elapsed_us": 30 * DAY_US, "spend_micros": 0, "owner": OWNER}
CONTENTS = {"a": compact({"amount": 1}), "b": compact({"amount": 2})}
DIGESTS = {content: digest_of(text.encode()) for content, text in CONTENTS.items()}
CONTENT_OF = {digest: content for content, digest in DIGESTS.items()}


@dataclass(frozen=True, slots=True)
class View:
    """A ledger as the explorer's people, workers and invariants read it."""

    installation: InstallationRecord
    run: RunRecord
    operation: OperationRecord | None
    attempts: tuple[AttemptRecord, ...]
    reviews: tuple[ReviewRecord, ...]
    review: ReviewRecord | None
    people: dict[str, PersonRecord]
    incidents: tuple[IncidentRecord, ...]
    suspended: bool

    @property
    def case(self) -> str | None:
        """The case under which the operation stands in our own record."""
        return None if self.operation is None else self.operation.case_letter

    @property
    def incident_open(self) -> bool:
        """An incident that nobody has closed."""
        return any(incident.closed_at is None for incident in self.incidents)


def _view(rows: Rows) -> View:
    def every(table: type[T]) -> list[T]:
        return list(rows.get(table, {}).values())

    reviews = tuple(sorted(every(ReviewRecord), key=lambda review: review.number))
    return View(
        installation=every(InstallationRecord)[0],
        run=every(RunRecord)[0],
        operation=next(iter(every(OperationRecord)), None),
        attempts=tuple(sorted(every(AttemptRecord), key=lambda attempt: attempt.n)),
        reviews=reviews,
        review=newest_review(reviews),
        people={person.name: person for person in every(PersonRecord)},
        incidents=tuple(every(IncidentRecord)),
        suspended=any(s.lifted_at is None for s in every(SuspensionRecord)),
    )


@dataclass(frozen=True, slots=True)
class _Looking(RunVerb):
    """No verb of the product: reads when facts may change by time alone, and the last instant inside the key's window."""

    target: Target

    def reads(self) -> tuple[Read, ...]:
        return self.target.reads()

    def decide(self, tx: Transaction) -> tuple[int | None, int | None]:
        situation = situation_in(tx, self.target)
        return next_look_at(situation), repeat_until(situation) if situation.attempts else None


class Scene:
    """One kind of receiver, its book of ledgers, and how verbs are asked in a state."""

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.book = Book()
        self.contract = compact(kind.contract.stored())
        self.contract_digest = kind.contract.digest()
        self._targets: dict[tuple[str, bool], Target] = {}

    def first(self) -> int:
        """A database with people and one submitted run."""
        people = [NewPerson(name, (ROLE,), "") for name in REVIEWERS] + [NewPerson(OPERATOR, ("operator",), "")]
        ledger = self.book.empty()
        for name, verb in (
            (
                "install",
                Install(INSTALLATION, "explored", single_person=False, marker_accepted=False, people=tuple(people)),
            ),
            ("submit", Submit(RUN_ID, "explored", 1, "request-1", "{}", digest_of(b"{}"), BUDGET, DEADLINES)),
        ):
            applied = self.book.apply(ledger, START, name, lambda verb=verb: verb)
            applied.outcome.unwrap()
            ledger = applied.ledger
        return ledger

    def view(self, state: State) -> View:
        """The ledger of a state, read."""
        return self.book.view(state.ledger, "view", _view)

    def target(self, operation: OperationRecord, *, jumped: bool = False) -> Target:
        """The operation as a process addresses it that would send it now."""
        key = (operation.operation_id, jumped)
        if key not in self._targets:
            plain = target_of(operation, SCOPE, REVIEW)
            self._targets[key] = replace(plain, clock_jump=jumped, approval_scope=SCOPE, patience_us=150 * SECOND)
        return self._targets[key]

    def canonical(self, state: State) -> tuple[State, bool]:
        """The state, or the same with the two workers exchanged: whichever stands for both. And whether it was exchanged."""
        if len(state.workers) != 2:
            return state, False
        one, two = state.workers
        first, second = one._replace(slot=2), two._replace(slot=1)
        other = self.book.changed(state.ledger, "swapped", lambda rows: each(rows, swapped))
        if (_order(one), _order(two), state.ledger) <= (_order(second), _order(first), other):
            return state, False
        backup = state.backup
        if backup is not None:
            backup = backup._replace(
                ledger=self.book.changed(backup.ledger, "swapped", lambda rows: each(rows, swapped))
            )
        names = {one.process: first.process, two.process: second.process}
        receiver = state.receiver
        wire = tuple(r._replace(process=names.get(r.process, r.process)) for r in receiver.wire)
        working = tuple(r._replace(process=names.get(r.process, r.process)) for r in receiver.working)
        receiver = receiver._replace(wire=wire, working=working)
        return state._replace(ledger=other, workers=(second, first), backup=backup, receiver=receiver), True

    def intent(self, content: str) -> Intent:
        """What the run wants written."""
        contract = self.kind.contract
        return Intent(
            name=NAME, receiver="receiver", environment="test", action=NAME, api_version=contract.api_version,
            duplicate=contract.duplicate, payload=CONTENTS[content], payload_digest=DIGESTS[content], business_key=BUSINESS_KEY,
            repeatable=False, contract_digest=self.contract_digest, contract=self.contract, owner=OPERATOR, review=REVIEW,
        )  # fmt: skip

    def looks(self, state: State) -> tuple[int | None, int | None]:
        """When the facts may change by time alone, and the last instant at which a repeat is inside the key's window."""
        operation = self.view(state).operation
        if operation is None:
            return None, None
        target = self.target(operation)
        return self.book.apply(state.ledger, state.wall, "looks", lambda: _Looking(RUN_ID, target)).outcome.unwrap()

    def ask(
        self, state: State, asks: Hashable, make: Callable[[], RunVerb], *, sends: bool = False
    ) -> tuple[Applied, State]:
        """A verb decided over a state's ledger, and the state after it.

        A copy taken before a commit that sends or forbids is behind the outside marker from then on.
        """
        applied = self.book.apply(state.ledger, state.wall, asks, make)
        if applied.ledger == state.ledger:
            return applied, state
        workers = state.workers
        if applied.refenced:
            workers = tuple(w._replace(fence=FENCE - 1) if w.fence else w for w in workers)
        backup = state.backup and state.backup._replace(behind=state.backup.behind or (sends and applied.wrote))
        return applied, state._replace(ledger=applied.ledger, workers=workers, backup=backup)


def _order(worker: Worker) -> str:
    return repr(worker[1:])
