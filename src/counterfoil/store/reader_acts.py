"""Who did what, from the journal, by partial indexes over the entries that people cause."""

from counterfoil.model.journal import Entry, EntryKind
from counterfoil.store.acts import NEWEST, ActRow
from counterfoil.store.questions import Questions


class SqlActs:
    """See `store.acts.ActsReader`."""

    def __init__(self, questions: Questions) -> None:
        self._questions = questions

    def list(
        self,
        *,
        person: str | None = None,
        kind: str | None = None,
        since: int = 0,
        until: int = 1 << 62,
        before: tuple[int, int] = NEWEST,
        limit: int = 50,
    ) -> list[ActRow]:
        """The newest first."""
        asked: dict[str, str | int | None] = {
            "kind": kind, "since": since, "until": until, "before_at": before[0], "before": before[1], "limit": limit,
        }  # fmt: skip
        if person is None:
            found = self._questions.ask("list_acts", asked)
        else:
            found = self._questions.ask("list_acts_of", asked | {"person": person})
        return [
            ActRow(ordinal, by, Entry(run_id, sequence, EntryKind(name), *rest))
            for ordinal, by, run_id, sequence, name, *rest in found
        ]
