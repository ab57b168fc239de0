"""One state of everything: the ledger, the receiver, two workers, the clocks, and what may still go wrong."""

from typing import Any, NamedTuple

from counterfoil.testing.explore.alike import START
from counterfoil.testing.explore.receiver import Receiver

IDLE, DRIVE, OPEN, TRY, MARKED = "idle", "drive", "open", "try", "marked"
SENT, REPLIED, ASKED = "sent", "replied", "asked"


class Worker(NamedTuple):
    """One worker process and where its program stands. `at` is the boundary that it passed last.

    `jumped`: its two clocks have disagreed since it was started. `slow`: time has passed while it stood where it stands.
    `data` belongs to the phase.
    """

    slot: int
    phase: str = IDLE
    fence: int = 0
    at: str = ""
    jumped: bool = False
    slow: bool = False
    data: tuple[Any, ...] = ()

    @property
    def process(self) -> str:
        """The process's own name. When it dies, what it left in the ledger is of a process that is gone."""
        return f"w{self.slot}"

    @property
    def name(self) -> str:
        """As stories call it."""
        return f"worker {self.slot}"


class Left(NamedTuple):
    """How often each may still happen in this story. `rare`: crashes, freezes and mishaps together."""

    crashes: int
    freezes: int
    instants: int
    words: int
    mishaps: int
    rare: int

    def has(self, what: str, times: int = 1) -> bool:
        """Whether it may still happen so often."""
        return getattr(self, what) >= times and (what in _COMMON or self.rare >= times)

    def less(self, what: str, times: int = 1) -> "Left":
        """What is left after it happened so often."""
        left = self._replace(**{what: getattr(self, what) - times})
        return left if what in _COMMON else left._replace(rare=left.rare - times)


_COMMON = frozenset({"instants", "words"})


class Backup(NamedTuple):
    """A copy of the database. `behind`: since then something was sent or forbidden, so the outside marker is ahead of it.

    `at` is when it was made, by the ledger's time.
    """

    ledger: int
    behind: bool
    at: int


class State(NamedTuple):
    """Times count from now, which is START on the clock that counts sleep. The wall clock is `offset` away.

    `floor`: the store's time does not go back behind it, whatever the wall clock says.
    `residue`: which of the things that the design leaves open have really happened in this story.
    """

    ledger: int
    offset: int
    floor: int
    receiver: Receiver
    workers: tuple[Worker, ...]
    left: Left
    backup: Backup | None = None
    residue: frozenset[str] = frozenset()

    @property
    def wall(self) -> int:
        """The ledger's time: the wall clock, which the store never lets go back."""
        return max(START + self.offset, self.floor)

    def with_worker(self, worker: Worker) -> "State":
        """The state with this worker as it is now."""
        return self._replace(workers=tuple(worker if w.slot == worker.slot else w for w in self.workers))


class Step(NamedTuple):
    """One line of a story."""

    actor: str
    boundary: str | None
    case: str | None
    text: str


class Move(NamedTuple):
    """What can happen next. `broken`: the invariants that this very step breaks. `crashed`: the boundary of a crash."""

    step: Step
    state: State
    broken: tuple[str, ...] = ()
    crashed: str | None = None


def said(
    state: State,
    worker: Worker,
    text: str,
    case: str | None = None,
    *,
    broken: tuple[str, ...] = (),
    refused: Exception | None = None,
) -> Move:
    """A worker's move. Refused by a verb that only the run's driver may ask, it lets go of the run."""
    if refused is not None:
        worker = worker._replace(phase=IDLE, data=())
        text = f"is refused ({getattr(refused, 'code', 'refused')}) and lets go of the run"
    step = Step(worker.name, worker.at or None, case, text)
    if worker.phase == IDLE:
        worker = worker._replace(fence=0, at="")
    return Move(step, state.with_worker(worker._replace(slow=False)), broken)
