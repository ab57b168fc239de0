"""Money, counted by index: nothing here looks at a run."""

from counterfoil.model.operation import OperationRecord
from counterfoil.store.questions import Questions
from counterfoil.store.sums import Sum
from counterfoil.store.tables import BY_RECORD


class SqlMoney:
    """Sums, and what a statement is held against, of a snapshot."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def sums(self, begin: int, end: int) -> list[Sum]:
        """Counts and sums of a stretch of time."""
        asked = {"begin": begin, "end": end}
        names = ("sums_approved", "sums_closed", "sums_in_doubt")
        return [Sum(*values) for name in names for values in self._questions.ask(name, asked)]

    def succeeded(self, receiver: str, begin: int, end: int) -> list[OperationRecord]:
        """What the receiver must list."""
        asked = {"receiver": receiver, "begin": begin, "end": end}
        return list(map(BY_RECORD[OperationRecord].row, self._questions.ask("succeeded_between", asked)))
