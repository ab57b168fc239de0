"""What a database offers the engine: verbs are applied in batches, one commit each, and read back as records."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from counterfoil.model.budget import BudgetRecord
from counterfoil.model.conversation import ConversationRecord, SignalRecord
from counterfoil.model.document import TypedDocumentRecord
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.installation import IncidentRecord, InstallationRecord, SuspensionRecord, WorkerRecord
from counterfoil.model.journal import Entry
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.permissions import Place
from counterfoil.store.acts import ActsReader
from counterfoil.store.due import DueReader
from counterfoil.store.figures import Figures
from counterfoil.store.hearing import Hearing
from counterfoil.store.inbox import InboxReader
from counterfoil.store.received import ReceivedReader
from counterfoil.store.sums import Sum as Sum
from counterfoil.store.upkeep import Upkeep

if TYPE_CHECKING:
    from counterfoil.store.transaction import Transaction

T = TypeVar("T")

Part = str | int
"""One part of a key, or one value of an index."""


class StorageError(Refused):
    """The database did not do it: `disk_full`, `database_busy`, `server_lost`, `read_only`, `not_granted` or `storage_failed`.

    Nothing of the batch is answered. After `storage_failed` its fate is open, as after a crash: read before you act. Only with
    `refused_row` (the schema refused what a verb put) it is certain that nothing was applied, and each verb may be tried alone.
    """

    refused_row = False


@dataclass(frozen=True, slots=True)
class Read:
    """Rows that a verb needs. `index` is "key" (then `values` are the parts of one key), a declared column, or "all"."""

    table: type[Any]
    index: str
    values: tuple[Part, ...]

    @staticmethod
    def key(table: type[Any], *key: Part) -> "Read":
        """The row with this primary key, present or not."""
        return Read(table, "key", key)

    @staticmethod
    def by(table: type[Any], index: str, *values: Part) -> "Read":
        """All rows whose column `index` holds one of `values`."""
        return Read(table, index, values)

    @staticmethod
    def all(table: type[Any]) -> "Read":
        """The whole table. Only for small ones: people, suspensions, workers."""
        return Read(table, "all", ())


class Verb(Protocol):
    """A pure decision between reads and writes.

    `boundary` names the commit that carries it. `sends` is True when it marks an operation in flight or forbids
    sending: then the outside marker must follow the commit before anything else happens.
    """

    @property
    def boundary(self) -> str: ...

    @property
    def sends(self) -> bool: ...

    def reads(self) -> Sequence[Read]:
        """Everything that `decide` will look at."""
        ...

    def decide(self, tx: "Transaction") -> Any:
        """Look, decide, put. Raises CounterfoilError to refuse: then nothing that it wrote is kept."""
        ...


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one verb. `error` is its refusal; then `value` is None."""

    value: Any = None
    error: CounterfoilError | None = None

    def unwrap(self) -> Any:
        """The value, or the refusal raised."""
        if self.error is not None:
            raise self.error
        return self.value


@dataclass(frozen=True, slots=True)
class Mark:
    """What the outside marker must hold. `rolling` is the digest over all batches up to `in_flight_batch`."""

    installation_id: str
    incarnation: int
    in_flight_batch: int
    batches: int
    rolling: bytes


def _nothing(boundaries: list[str]) -> None:
    del boundaries


def _nobody(entries: Sequence[Entry]) -> None:
    del entries


@dataclass(frozen=True, slots=True)
class Hooks:
    """Called in the writer's thread around COMMIT with the boundaries of the verbs that wrote something."""

    before_commit: Callable[[list[str]], None] = _nothing
    after_commit: Callable[[list[str]], None] = _nothing
    committed: Callable[[Sequence[Entry]], None] = _nobody  # the entries of the commit, for whoever tells of them
    unconfirmed: Callable[[], None] = lambda: None  # before the first commit that no standby confirms any more


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """A part of a list, newest first. `next_cursor` is given back as `before`; None at the end."""

    items: list[T]
    next_cursor: int | None


Workflows = Collection[str] | None
"""The workflows whose runs may be seen; None: all."""

Places = Collection[Place] | None
"""Where operations may be seen: (workflow, operation), None in it for any; None: everywhere."""


@dataclass(frozen=True, slots=True)
class Found:
    """A hit of `find`: `kind` is run, operation, attempt, receipt, proposal, review, incident, budget, conversation, ...

    `matched` is what of it the text is: id, number, request id, business key, reference, target or person; or what the
    person of that name did with it: answered, withdrew, resolved, closed, tended, looked up, submitted, resumed, cancelled, works on.
    """

    kind: str
    id: str
    number: int | None
    title: str
    run_id: str | None
    matched: str


class Lists(Protocol):
    """The lists that the command line and the console show. Newest first, `limit` rows from `before` downwards.

    `workflows` and `places` leave out what may not be seen.
    """

    def runs(
        self,
        *,
        state: str | None = None,
        workflow: str | None = None,
        reason: str | None = None,
        workflows: Workflows = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Page[RunRecord]:
        """Runs by number."""
        ...

    def operations(
        self,
        *,
        status: str | None = None,
        receiver: str | None = None,
        places: Places = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Page[OperationRecord]:
        """Operations by number."""
        ...

    def reviews(
        self, *, state: str | None = None, places: Places = None, before: int | None = None, limit: int = 50
    ) -> Page[ReviewRecord]:
        """Reviews by number."""
        ...

    def incidents(
        self, *, open_only: bool = False, places: Places = None, before: int | None = None, limit: int = 50
    ) -> Page[IncidentRecord]:
        """Incidents by number."""
        ...

    def signals(
        self, *, run_id: str | None = None, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[SignalRecord]:
        """Signals by arrival; the cursor counts arrivals."""
        ...

    def conversations(
        self, *, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[ConversationRecord]:
        """Conversations by number; `workflows` are the agents whose conversations may be seen."""
        ...

    def documents(
        self, *, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[TypedDocumentRecord]:
        """Working context with a type, by number; `workflows`: those whose runs may be seen."""
        ...

    def budgets(self, *, scope: str | None = None, before: int | None = None, limit: int = 50) -> Page[BudgetRecord]:
        """Budgets by number; without a scope those that runs share."""
        ...

    def people(self) -> list[PersonRecord]:
        """Everybody, by name, the revoked too."""
        ...

    def suspensions(self) -> list[SuspensionRecord]:
        """The newest suspension of each scope, the lifted too."""
        ...

    def workers(self) -> list[WorkerRecord]:
        """All workers, the newest first."""
        ...

    def named(self, text: str, *, limit: int = 20) -> list[Found]:
        """What has this id, an id that begins so, or this number."""
        ...

    def sums(self, begin: int, end: int) -> list[Sum]:
        """What was approved or closed from `begin` until before `end`, and what was first sent then and is in doubt now."""
        ...

    def succeeded(self, receiver: str, begin: int, end: int) -> list[OperationRecord]:
        """Operations that were first sent and succeeded within this time, both ends included, by number."""
        ...

    def find(self, text: str, *, limit: int = 20) -> list[Found]:
        """What `text` may mean: as `named`, then a request id, a business key, a reference, a target, a person."""
        ...


class Snapshot(Protocol):
    """Rows and entries as they are at one moment."""

    @property
    def installation(self) -> InstallationRecord | None:
        """The one installation; None in a database where none was put yet."""
        ...

    def get(self, table: type[T], *key: Part) -> T | None:
        """The row with this primary key."""
        ...

    def find(self, table: type[T], index: str, *values: Part) -> list[T]:
        """The rows whose declared column holds one of the values, in the table's order."""
        ...

    def rows(self, table: type[T]) -> Iterator[T]:
        """Every row of a table, in the table's order."""
        ...

    def entries(self, run_id: str, *, after: int = -1, limit: int | None = None) -> list[Entry]:
        """A chain's entries with a sequence above `after`, in order."""
        ...

    def journal(self) -> Iterator[tuple[int, Entry]]:
        """Every entry of every chain with its ordinal, in the order of their commits."""
        ...

    def chains(self) -> Iterator[tuple[str, int, bytes]]:
        """(run_id, sequence, head) as the tables hold it, for the runs and for the installation's own chain."""
        ...

    def rolling_at(self, batch: int) -> bytes | None:
        """The rolling digest at a commit that sent, or None when this database knows no such commit."""
        ...


class Reader(Snapshot, Protocol):
    """One consistent snapshot, and the questions that are asked of it."""

    @property
    def figures(self) -> Figures:
        """What metrics and traces read."""
        ...

    @property
    def received(self) -> ReceivedReader:
        """What receivers sent by themselves."""
        ...

    @property
    def upkeep(self) -> Upkeep:
        """What duties read."""
        ...

    @property
    def lists(self) -> Lists:
        """The lists people look at."""
        ...

    @property
    def inbox(self) -> InboxReader:
        """What needs a person."""
        ...

    @property
    def acts(self) -> ActsReader:
        """Who did what."""
        ...

    @property
    def due(self) -> DueReader:
        """What a worker takes up."""
        ...

    def unresolved(self) -> list[OperationRecord]:
        """Operations in flight or unknown, by number."""
        ...

    def open_reviews(self) -> list[ReviewRecord]:
        """Reviews that wait for an answer, the earliest deadline first."""
        ...


class Database(Hearing, Protocol):
    """One ledger's storage. `apply` is called by one thread at a time; readers may be used from any."""

    def apply(self, verbs: Sequence[Verb]) -> list[Outcome]:
        """All verbs in one transaction, each seeing the rows of those before it. Durable when it returns.

        A refusal is its verb's own outcome. Raises StorageError when the database failed, and whatever a verb raised
        that is no refusal (a defect): then nothing of the batch was applied. Without a write there is no commit.
        """
        ...

    def marked(self) -> Mark:
        """What the outside marker must hold after the newest commit that sent or forbade sending."""
        ...

    def reader(self) -> AbstractContextManager[Reader]:
        """A snapshot on a connection of its own, released at the end of the block."""
        ...

    def data_version(self) -> int:
        """A number that changes when another process or connection committed."""
        ...

    def close(self) -> None:
        """Close all connections. A second call does nothing."""
        ...
