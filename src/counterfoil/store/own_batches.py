"""Which batches of a ledger are ours, so that those of others can be counted whenever we look."""

from dataclasses import dataclass

KEPT = (
    64  # a look is older than so many commits of ours only where its thread stood still, and then the next look tells
)


@dataclass(frozen=True, slots=True)
class OwnBatches:
    """How many were committed from here, and the numbers of the newest. Replaced as a whole, so that a look sees one moment."""

    total: int = 0
    newest: tuple[int, ...] = ()

    def begun(self, number: int) -> "OwnBatches":
        """With one that is about to be committed: whoever sees its commit must find it here."""
        return OwnBatches(self.total + 1, (*self.newest, number)[-KEPT:])

    def undone(self) -> "OwnBatches":
        """Without the one begun last."""
        return OwnBatches(self.total - 1, self.newest[:-1])

    def others(self, batches: int) -> int:
        """How many of the ledger's first `batches` were committed elsewhere."""
        return batches - self.total + sum(number > batches for number in self.newest)
