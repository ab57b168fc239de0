"""What one signed-in person may see and do, asked anew for every call: whoever is revoked meanwhile sees nothing more."""

from collections.abc import Collection, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from counterfoil.app.access.actor import Actor
from counterfoil.app.access.proof import still_proven
from counterfoil.app.registration import named_in
from counterfoil.model.access import Act, GrantRecord, RecordKind
from counterfoil.model.errors import Refused
from counterfoil.model.installation import IncidentRecord
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import (
    ABOUT_RUNS,
    Place,
    Standing,
    Wish,
    allowed,
    in_scope,
    seen,
    standing_of,
    visible,
)
from counterfoil.rules.wishes import about_installation, about_operation, about_review, about_run
from counterfoil.store.port import Reader

if TYPE_CHECKING:
    from counterfoil.app.application import App

T = TypeVar("T")
CANDIDATES = 200  # how many things a typed text may fit before it is called ambiguous
EVERYWHERE: Place = (None, None)


@dataclass(frozen=True)
class Look:
    """One look, in one snapshot. What it does not find or may not see is not_found, and both read the same."""

    reader: Reader
    actor: Actor
    person: PersonRecord
    standing: Standing

    @cached_property
    def places(self) -> frozenset[Place]:
        """Where runs and operations are seen."""
        return seen(self.standing, self.actor.scope)

    @property
    def filter_places(self) -> Collection[Place] | None:
        """The same as lists take it: None for everywhere."""
        return None if EVERYWHERE in self.places else sorted(self.places, key=str)

    @property
    def filter_workflows(self) -> Collection[str] | None:
        """Workflows whose runs are seen as a whole, as lists take it: None for all."""
        whole = {workflow for workflow, operation in self.places if operation is None}
        return None if None in whole else sorted(workflow for workflow in whole if workflow is not None)

    def may(self, wish: Wish) -> bool:
        """Whether the person may, and the token is good for it."""
        return in_scope(self.actor.scope, wish) and allowed(self.standing, wish)

    def _may_something(self, wish: Wish) -> bool:
        """Whether the thing names the person for any act: who may act on it sees that it is there."""
        return any(self.may(replace(wish, act=act)) for act in ABOUT_RUNS)

    def must(self, wish: Wish) -> None:
        """Raises Refused(not_permitted)."""
        if not self.may(wish):
            raise Refused("not_permitted", name=self.actor.person, act=wish.act.value)

    def sees_run(self, run: RunRecord) -> bool:
        """The run as a whole."""
        return visible(self.places, run.workflow, None) or self._may_something(about_run(Act.READ, run))

    def sees_operation(self, operation: OperationRecord, run: RunRecord) -> bool:
        """One operation, with or without the run around it."""
        wish = about_operation(Act.READ, operation, run)
        return visible(self.places, run.workflow, operation.name) or self._may_something(wish) or self.sees_run(run)

    def reads_run(self, kind: RecordKind, run: RunRecord) -> bool:
        """The run's own records of a kind."""
        return self.may(about_run(Act.READ, run, kind=kind))

    def reads_operation(self, kind: RecordKind, operation: OperationRecord, run: RunRecord) -> bool:
        """An operation's records of a kind."""
        return self.may(about_operation(Act.READ, operation, run, kind=kind)) or self.reads_run(kind, run)

    # ------------------------------------------------------------------ what a person typed for a thing

    def run(self, text: str) -> RunRecord:
        """Raises Refused(not_found, ambiguous_id), over what is seen alone."""
        return self._one(
            "run", text, {id_: run for id_, run in self._hits(RunRecord, "run", text) if self.sees_run(run)}
        )

    def operation(self, text: str) -> tuple[OperationRecord, RunRecord]:
        """An operation and its run. Raises as `run`."""
        found = {id_: (each, self.run_of(each.run_id)) for id_, each in self._hits(OperationRecord, "operation", text)}
        return self._one("operation", text, {i: pair for i, pair in found.items() if self.sees_operation(*pair)})

    def review(self, text: str) -> tuple[ReviewRecord, OperationRecord, RunRecord]:
        """A review with what it is about. Whoever holds the role that it asks sees it, too. Raises as `run`."""
        found: dict[str, tuple[ReviewRecord, OperationRecord, RunRecord]] = {}
        for id_, review in self._hits(ReviewRecord, "review", text):
            operation, run = self.operation_of(review.operation_id)
            if self._may_something(about_review(Act.READ, review, operation, run)) or self.sees_operation(
                operation, run
            ):
                found[id_] = (review, operation, run)
        return self._one("review", text, found)

    def incident(self, text: str) -> tuple[IncidentRecord, OperationRecord, RunRecord]:
        """An incident with what it is about. Raises as `run`."""
        found: dict[str, tuple[IncidentRecord, OperationRecord, RunRecord]] = {}
        for id_, incident in self._hits(IncidentRecord, "incident", text):
            operation, run = self.operation_of(incident.operation_id)
            if self.sees_operation(operation, run):
                found[id_] = (incident, operation, run)
        return self._one("incident", text, found)

    def run_of(self, run_id: str) -> RunRecord:
        """The run with this id, seen or not."""
        run = self.reader.get(RunRecord, run_id)
        if run is None:
            raise Refused("not_found", what="run", id=run_id)
        return run

    def operation_of(self, operation_id: str) -> tuple[OperationRecord, RunRecord]:
        """The operation with this id and its run, seen or not."""
        operation = self.reader.get(OperationRecord, operation_id)
        if operation is None:
            raise Refused("not_found", what="operation", id=operation_id)
        return operation, self.run_of(operation.run_id)

    def _hits(self, record: type[T], what: str, text: str) -> Iterator[tuple[str, T]]:
        for hit in self.reader.lists.named(text, limit=CANDIDATES):
            row = self.reader.get(record, hit.id) if hit.kind == what else None
            if row is not None:
                yield hit.id, row

    def _one(self, what: str, text: str, found: dict[str, T]) -> T:
        if text in found:
            return found[text]  # a whole id, even where it is the start of another
        if not found:
            raise Refused("not_found", what=what, id=text)
        if len(found) > 1:
            raise Refused("ambiguous_id", what=what, id=text)
        return next(iter(found.values()))


class Sight:
    """Given to every noun of a desk."""

    def __init__(self, app: "App", actor: Actor) -> None:
        self.app = app
        self.actor = actor

    @contextmanager
    def look(self) -> Generator[Look]:
        """Raises Refused(session_over, token_invalid) once the person, the token or the session is no longer good."""
        opened = self.app.open()
        with opened.read() as reader:
            person = still_proven(reader, self.actor, opened.clock.now_us())
            people, grants = reader.lists.people(), list(reader.rows(GrantRecord))
            named = frozenset(named_in(self.app.registry))
            yield Look(reader, self.actor, person, standing_of(person, people, grants, named=named))

    def must(self, act: Act) -> None:
        """An act on the installation. Raises Refused(not_permitted)."""
        with self.look() as look:
            look.must(about_installation(act))

    def sees_installation(self) -> bool:
        """Whether workers, receivers and people are shown: to whoever sees every run, or administers."""
        with self.look() as look:
            return EVERYWHERE in look.places or look.may(about_installation(Act.ADMINISTER))
