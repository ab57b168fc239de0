"""What a conformance case is given: databases over one location, a clock it sets, and small verbs."""

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from counterfoil.model.installation import InstallationRecord
from counterfoil.model.journal import EntryKind
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Database, Hooks, Outcome, Read, Verb
from counterfoil.store.transaction import Transaction
from counterfoil.testing.conformance.samples import INSTALLATION, run_named

START_US = 1_800_000_000_000_000


class SetClock:
    """A clock that stands where it is put."""

    def __init__(self, at: int = START_US) -> None:
        self.at = at

    def now_us(self) -> int:
        """The time it was put to."""
        return self.at


class MakeDatabase(Protocol):
    """A backend. The first call for a location makes an empty database, later ones open the same again.

    A location is an empty folder; a backend that keeps nothing in files takes its name for a name of its own.
    """

    def __call__(self, location: Path, clock: SetClock, hooks: Hooks) -> Database: ...


@dataclass(frozen=True, slots=True)
class Act:
    """A verb written down on the spot."""

    named: Sequence[Read]
    body: Callable[[Transaction], Any]
    boundary: str = "acted"
    sends: bool = False

    def reads(self) -> Sequence[Read]:
        """What the body looks at."""
        return self.named

    def decide(self, tx: Transaction) -> Any:
        """Run the body."""
        return self.body(tx)


@dataclass(slots=True)
class Bench:
    """One case's databases. `close` closes all that it opened."""

    make: MakeDatabase
    location: Path
    clock: SetClock = field(default_factory=SetClock)
    opened: list[Database] = field(default_factory=list[Database])

    def open(self, hooks: Hooks | None = None) -> Database:
        """A handle on the case's database; a second one is like another process."""
        database = self.make(self.location, self.clock, hooks or Hooks())
        self.opened.append(database)
        return database

    def installed(self, hooks: Hooks | None = None) -> Database:
        """A new database with its installation."""
        database = self.open(hooks)
        done(database, Act((), install, boundary="installed"))
        return database

    def with_runs(self, *names: str) -> Database:
        """A new database with these runs, each with its first entry."""
        database = self.installed()
        done(database, *(submit(name) for name in names))
        return database

    def close(self) -> None:
        """Close every database that was opened here."""
        for database in self.opened:
            database.close()


def install(tx: Transaction) -> None:
    """Store the installation with its first entry."""
    tx.put(INSTALLATION)
    tx.append(INSTALLATION.installation_id, EntryKind.INSTALLED, data={"name": INSTALLATION.name})


def done(database: Database, *verbs: Verb) -> list[Any]:
    """Apply in one batch, and the values; a refusal is raised."""
    return [outcome.unwrap() for outcome in database.apply(verbs)]


def one(database: Database, verb: Verb) -> Outcome:
    """Apply alone."""
    (outcome,) = database.apply([verb])
    return outcome


def code_of(outcome: Outcome) -> str | None:
    """The code of a verb's refusal, or None."""
    return outcome.error.code if outcome.error else None


def submit(name: str) -> Act:
    """A verb that stores a run with its first entry."""

    def body(tx: Transaction) -> RunRecord:
        run = run_named(name, tx.number("run"))
        tx.put(run)
        tx.append(run.run_id, EntryKind.SUBMITTED, data={"request_id": run.request_id})
        return run

    return Act((Read.key(RunRecord, name),), body, boundary="submitted")


def step(name: str, position: str, *, sends: bool = False) -> Act:
    """A verb that adds one entry to a run and changes nothing else."""
    return Act(
        (Read.key(RunRecord, name),),
        lambda tx: tx.append(name, EntryKind.STEP, position=position, name="work", data={"result": position}),
        boundary="stepped",
        sends=sends,
    )


def putting(*rows: Any, run_id: str = INSTALLATION.installation_id) -> Act:
    """A verb that stores rows, noted on a chain that is there."""

    def body(tx: Transaction) -> None:
        for row in rows:
            tx.put(row)
        tx.append(run_id, EntryKind.RULED)

    return Act((Read.key(RunRecord, run_id),), body)


@contextmanager
def raises(kind: type[BaseException], saying: str = "") -> Generator[None, None, None]:
    """The block must raise this, with this in its text. Here so that the suite runs without a test runner."""
    try:
        yield
    except kind as problem:
        text = getattr(problem, "code", "") + " " + str(problem)
        if saying not in text:
            raise AssertionError(f"{saying!r} is not in {text!r}") from problem
        return
    raise AssertionError(f"{kind.__name__} was not raised")


def installation_of(database: Database) -> InstallationRecord:
    """The stored row."""
    with database.reader() as reader:
        found = reader.installation
    assert found is not None, "there is an installation"
    return found
