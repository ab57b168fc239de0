"""Reading a database: one snapshot, asked in the words of its dialect."""

from collections.abc import Iterator
from typing import Any, TypeVar, cast

from counterfoil.model.budget import BudgetRecord
from counterfoil.model.codec import compact
from counterfoil.model.conversation import ConversationRecord, SignalRecord
from counterfoil.model.document import TypedDocumentRecord
from counterfoil.model.installation import IncidentRecord, InstallationRecord, SuspensionRecord, WorkerRecord
from counterfoil.model.journal import Entry, EntryKind
from counterfoil.model.operation import OperationRecord
from counterfoil.model.people import PersonRecord
from counterfoil.model.review import ReviewRecord
from counterfoil.model.run import RunRecord
from counterfoil.store.port import Found, Page, Part, Places, Workflows
from counterfoil.store.questions import Questions
from counterfoil.store.reader_acts import SqlActs
from counterfoil.store.reader_due import SqlDue
from counterfoil.store.reader_figures import SqlFigures
from counterfoil.store.reader_finding import SqlFinding
from counterfoil.store.reader_inbox import SqlInbox
from counterfoil.store.reader_money import SqlMoney
from counterfoil.store.reader_received import SqlReceived
from counterfoil.store.reader_upkeep import SqlUpkeep
from counterfoil.store.sums import Sum
from counterfoil.store.tables import BY_RECORD, ENTRIES

T = TypeVar("T")

_EVERYTHING = (1 << 63) - 1
_KINDS: dict[str, Any] = {kind.value: kind for kind in EntryKind}


class SqlLists:
    """The lists that people look at."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

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
        """Runs by number, newest first."""
        wanted = {"state": state, "workflow": workflow, "reason": reason, "workflows": _listed(workflows)}
        return self._page(RunRecord, "list_runs_in_state" if state else "list_runs", wanted, before, limit)

    def operations(
        self,
        *,
        status: str | None = None,
        receiver: str | None = None,
        places: Places = None,
        before: int | None = None,
        limit: int = 50,
    ) -> Page[OperationRecord]:
        """Operations by number, newest first."""
        name = "list_operations_with_status" if status else "list_operations"
        wanted = {"status": status, "receiver": receiver, "places": _listed(places)}
        return self._page(OperationRecord, name, wanted, before, limit)

    def reviews(
        self, *, state: str | None = None, places: Places = None, before: int | None = None, limit: int = 50
    ) -> Page[ReviewRecord]:
        """Reviews by number, newest first."""
        name = "list_reviews_in_state" if state else "list_reviews"
        return self._page(ReviewRecord, name, {"state": state, "places": _listed(places)}, before, limit)

    def incidents(
        self, *, open_only: bool = False, places: Places = None, before: int | None = None, limit: int = 50
    ) -> Page[IncidentRecord]:
        """Incidents by number, newest first."""
        name = "list_open_incidents" if open_only else "list_incidents"
        return self._page(IncidentRecord, name, {"places": _listed(places)}, before, limit)

    def signals(
        self, *, run_id: str | None = None, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[SignalRecord]:
        """Signals by arrival, newest first."""
        asked = {"run_id": run_id, "workflows": _listed(workflows), "before": before, "limit": limit + 1}
        found = list(self._questions.ask("list_signals", asked))
        items = [SignalRecord(*values[1:]) for values in found[:limit]]
        return Page(items, found[limit - 1][0] if len(found) > limit else None)

    def conversations(
        self, *, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[ConversationRecord]:
        """Conversations by number, newest first."""
        return self._page(ConversationRecord, "list_conversations", {"workflows": _listed(workflows)}, before, limit)

    def documents(
        self, *, workflows: Workflows = None, before: int | None = None, limit: int = 50
    ) -> Page[TypedDocumentRecord]:
        """Documents by number, newest first."""
        return self._page(TypedDocumentRecord, "list_documents", {"workflows": _listed(workflows)}, before, limit)

    def budgets(self, *, scope: str | None = None, before: int | None = None, limit: int = 50) -> Page[BudgetRecord]:
        """Budgets by number, newest first."""
        name = "list_budgets" if scope is None else "list_budgets_of"
        return self._page(BudgetRecord, name, {} if scope is None else {"scope": scope}, before, limit)

    def people(self) -> list[PersonRecord]:
        """Everybody, by name."""
        return self._all(PersonRecord, "list_people")

    def suspensions(self) -> list[SuspensionRecord]:
        """The newest suspension of each scope."""
        return self._all(SuspensionRecord, "list_suspensions")

    def workers(self) -> list[WorkerRecord]:
        """All workers, the newest first."""
        return self._all(WorkerRecord, "list_workers")

    def sums(self, begin: int, end: int) -> list[Sum]:
        """Counts and sums of a stretch of time."""
        return SqlMoney(self._questions).sums(begin, end)

    def succeeded(self, receiver: str, begin: int, end: int) -> list[OperationRecord]:
        """What the receiver must list of a stretch of time."""
        return SqlMoney(self._questions).succeeded(receiver, begin, end)

    def named(self, text: str, *, limit: int = 20) -> list[Found]:
        """What has this id, an id that begins so, or this number."""
        return SqlFinding(self._questions).named(text, limit=limit)

    def find(self, text: str, *, limit: int = 20) -> list[Found]:
        """What `text` may mean."""
        return SqlFinding(self._questions).find(text, limit=limit)

    def _all(self, record: type[T], name: str) -> list[T]:
        return list(map(BY_RECORD[record].row, self._questions.ask(name)))

    def _page(self, record: type[T], name: str, wanted: dict[str, Any], before: int | None, limit: int) -> Page[T]:
        asked = {**wanted, "before": before, "limit": limit + 1}
        rows = list(map(BY_RECORD[record].row, self._questions.ask(name, asked)))
        items = cast("list[T]", rows[:limit])
        return Page(items, rows[limit - 1].number if len(rows) > limit else None)


def _listed(seen: Workflows | Places) -> str | None:
    return None if seen is None else compact(list(seen))


class SqlReader:
    """One consistent snapshot. Its iterators are read inside the block that opened it."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions
        self.lists = SqlLists(questions)
        self.inbox = SqlInbox(questions)
        self.acts = SqlActs(questions)
        self.due = SqlDue(questions)
        self.upkeep = SqlUpkeep(questions)
        self.figures = SqlFigures(questions)
        self.received = SqlReceived(questions)

    @property
    def installation(self) -> InstallationRecord | None:
        """The one installation, if any."""
        values = self._questions.ask("installation").fetchone()
        return None if values is None else InstallationRecord(*values)

    def get(self, table: type[T], *key: Part) -> T | None:
        """The row with this primary key."""
        return next(iter(self._questions.by_key(BY_RECORD[table], [key])), None)

    def find(self, table: type[T], index: str, *values: Part) -> list[T]:
        """The rows whose declared column holds one of the values."""
        return list(self._questions.by_index(BY_RECORD[table], index, values))

    def rows(self, table: type[T]) -> Iterator[T]:
        """Every row of a table."""
        return iter(self._questions.by_index(BY_RECORD[table], "all", ()))

    def entries(self, run_id: str, *, after: int = -1, limit: int | None = None) -> list[Entry]:
        """A chain's entries above a sequence."""
        asked = {"run_id": run_id, "after": after, "limit": _EVERYTHING if limit is None else limit}
        return list(map(ENTRIES.row, self._questions.ask("entries_of", asked)))

    def journal(self) -> Iterator[tuple[int, Entry]]:
        """Every entry with its ordinal."""
        for ordinal, run_id, sequence, kind, *rest in self._questions.stream("journal"):
            # A kind that nobody knows is read all the same: verify must be able to name the entry.
            yield ordinal, Entry(run_id, sequence, _KINDS.get(kind, kind), *rest)

    def chains(self) -> Iterator[tuple[str, int, bytes]]:
        """Where each chain stands, as the tables say."""
        return iter(cast("Iterator[tuple[str, int, bytes]]", self._questions.stream("all_chains")))

    def unresolved(self) -> list[OperationRecord]:
        """Operations in flight or unknown."""
        return list(map(BY_RECORD[OperationRecord].row, self._questions.ask("unresolved_operations")))

    def open_reviews(self) -> list[ReviewRecord]:
        """Reviews that wait for an answer."""
        return list(map(BY_RECORD[ReviewRecord].row, self._questions.ask("open_reviews")))

    def rolling_at(self, batch: int) -> bytes | None:
        """The rolling digest at a commit that sent."""
        return self._questions.ask("rolling_at", {"batch": batch}).get
