"""What an audit reads: the entries that a person caused."""

from dataclasses import dataclass
from typing import Protocol

from counterfoil.model.journal import Entry

NEWEST = (1 << 62, 1 << 62)  # behind every (at, ordinal)


@dataclass(frozen=True, slots=True)
class ActRow:
    """`person` is None for what was done at the machine itself, where nobody has to say a name."""

    ordinal: int
    person: str | None
    entry: Entry


class ActsReader(Protocol):
    """Over one snapshot."""

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
        """The newest first, from `before` (at, ordinal) downwards. `since` and `until` bound the time, in microseconds."""
        ...
