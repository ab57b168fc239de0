"""What verbs share: a verb is a pure decision between reads and writes, one per commit that carries it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from counterfoil.model.errors import Refused
from counterfoil.model.run import RunRecord, RunState
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction


@dataclass(frozen=True, slots=True)
class RunVerb:
    """A verb about one run. `sends` is True for what marks in flight, or forbids sending: the outside marker follows it.

    `departs`: something leaves after it, so its run is named outside before: a restored database must know it.
    """

    run_id: str
    boundary: ClassVar[str]
    sends: ClassVar[bool] = False
    departs: ClassVar[bool] = False
    quiet: ClassVar[bool] = False  # nobody but the run's own driver has anything to do after it: nobody else is woken
    ends: ClassVar[bool] = False  # parks or ends the run: its chain's head is counted outside

    @property
    def touches(self) -> Sequence[str]:
        """The runs whose drivers hear of it at once."""
        return (self.run_id,)

    def reads(self) -> Sequence[Read]:
        return (Read.key(RunRecord, self.run_id),)

    def decide(self, tx: Transaction) -> Any:
        raise AssertionError("each verb decides for itself")


def driven(tx: Transaction, run_id: str, fence: int) -> RunRecord:
    """The run, if this worker still drives it. Its fence alone refuses; a lease's end only lets others claim."""
    run = tx.must(RunRecord, run_id)
    if run.fence != fence or run.state is not RunState.RUNNING:
        raise Refused("fence_lost", run_id=run_id)
    return run


@dataclass(frozen=True, slots=True)
class Deadlines:
    """How long each open state may last, in microseconds (settings; defaults of design section 12)."""

    pending: int = 15 * 60 * 1_000_000
    running: int = 30 * 60 * 1_000_000
    lease: int = 30 * 1_000_000
