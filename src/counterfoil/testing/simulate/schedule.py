"""One schedule: drawn from a seed, played to its end, and checked."""

import gc
import hashlib
import logging
import shutil
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Generator, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from counterfoil.model.run import RunRecord
from counterfoil.store.marker import OutsideMarker, Place
from counterfoil.store.port import Reader, StorageError
from counterfoil.store.verify import verify
from counterfoil.testing.simulate import checkers
from counterfoil.testing.simulate.book import Book
from counterfoil.testing.simulate.checkers import Seen, Violation
from counterfoil.testing.simulate.contracts import HABITS, base_of, names
from counterfoil.testing.simulate.network import Network
from counterfoil.testing.simulate.office import Office, wishes
from counterfoil.testing.simulate.options import Options, drawn
from counterfoil.testing.simulate.receiver import Receiver
from counterfoil.testing.simulate.seams import simulated
from counterfoil.testing.simulate.site import SECOND_US, Site
from counterfoil.testing.simulate.trouble import Trouble
from counterfoil.testing.simulate.world import START_US, Stuck, World

BOUND_US = 40 * 60 * SECOND_US  # after the last disturbance everything ends within this
SLICE_US = 10 * SECOND_US  # how often somebody looks whether all is over
_MEMORY = Path("/dev/shm")


@dataclass(slots=True)
class Played:
    """What one schedule came to. `lines`: the last of its trace, for people."""

    seed: int
    options: Options
    digest: str = ""
    faults: Counter[str] = field(default_factory=lambda: Counter())
    cases: set[str] = field(default_factory=lambda: set())
    violations: list[Violation] = field(default_factory=lambda: [])
    residue: Counter[str] = field(default_factory=lambda: Counter())
    refused: Counter[str] = field(default_factory=lambda: Counter())
    ends: Counter[str] = field(default_factory=lambda: Counter())
    unaccounted: int = 0
    records: int = 0
    simulated_s: float = 0.0
    lines: list[str] = field(default_factory=lambda: [])


def options_of(seed: int) -> Options:
    """The options that a seed draws."""
    return drawn(World(seed).chance("options"), names())


def play(
    seed: int,
    *,
    off: Set[str] = frozenset(),
    options: Options | None = None,
    directed: "Callable[[Stage], None]" = lambda stage: None,
) -> Played:
    """Play the schedule of a seed, with some disturbances switched off. What it finds is in `violations`; nothing is raised.

    `options` instead of those that the seed draws. `directed` is given the stage before anything happens: it may put other
    wishes into the book, and plan what happens when.
    """
    played = Played(seed, (options or options_of(seed)).without(off))
    folder = Path(tempfile.mkdtemp(prefix="counterfoil-", dir=_MEMORY if _MEMORY.is_dir() else None))
    try:
        with _undisturbed():
            stage = Stage(played, folder)
            directed(stage)
            stage.play()
            del stage
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return played


class Stage:
    """Everything that takes part in one schedule. `at` plans what happens at a second of it."""

    def __init__(self, played: Played, folder: Path) -> None:
        self._played = played
        self._options = options = played.options
        self.world = world = World(played.seed)
        world.rates = options.rates
        world.faults = played.faults
        world.is_calm = True  # until the installation is there
        self.receiver = Receiver({name: HABITS[base_of(name)] for name in names()})
        self.network = network = Network(world, self.receiver)
        self.book = book = Book(refused=played.refused)
        self.site = site = Site(world, folder)
        office = Office(world, site, book, network, options)
        self.trouble = Trouble(world, site, book, network, office, options)
        book.wishes = wishes(world, options)

    def at(self, seconds: float, act: Callable[[], object]) -> None:
        """Do this at that second of the schedule."""
        self.world.outside.loop.call_later(seconds, act)

    def play(self) -> None:
        with simulated(self.world, self.network, self._played.cases):
            try:
                self._live()
                self._judge()
            except Stuck as stuck:
                self._found("liveness", f"no time passes any more: {stuck}")
            finally:
                self.site.close()
        world = self.world
        self._played.digest = world.trace.digest()
        self._played.lines = list(world.trace.lines)
        self._played.simulated_s = (world.boot_us - START_US) / SECOND_US
        self._played.records = len(self.receiver.records)
        for process in (*world.processes, *world.graves):
            for problem in process.problems:
                if not isinstance(problem, StorageError):
                    self._found("defect", f"{process.name}: {type(problem).__name__}: {problem}"[:300])

    def _live(self) -> None:
        """Disturbed for a while, then calm until everything is over or the bound has come."""
        world = self.world
        self.trouble.begin()
        world.run_until(lambda: self.site.is_founded, START_US + SECOND_US)
        world.is_calm = False
        self._until(START_US + round(self._options.calm_after * SECOND_US))
        self.trouble.calm()
        self._until(world.boot_us + BOUND_US, stops=True)

    def _until(self, until_us: int, *, stops: bool = False) -> None:
        while self.world.boot_us < until_us:
            self.world.run_until(lambda: False, min(until_us, self.world.boot_us + SLICE_US))
            with self.site.looking().reader() as reader:
                runs = list(reader.rows(RunRecord))
            self._played.violations += checkers.nobody_waits_in_silence(runs)
            asked = all(wish.acknowledged for wish in self.book.wishes)
            if self._played.violations or (stops and asked and runs and all(run.state.ended for run in runs)):
                return

    def _judge(self) -> None:
        # What is on its way arrives before anybody counts.
        self.world.run_until(lambda: False, self.world.boot_us + 60 * SECOND_US)
        with self.site.looking().reader() as reader:
            seen = Seen.through(reader, self.book, self.network)
            self._check_chains(reader)
            self._note_journal(reader)
        found = [
            *checkers.no_duplicates(seen), *checkers.nothing_wrongly_closed(seen), *checkers.nothing_unledgered(seen),
            *checkers.approvals_bound(seen), *checkers.stops_kept(seen), *checkers.in_time(seen),
            *checkers.nobody_waits_in_silence(seen.runs),
        ]  # fmt: skip
        if not self._played.violations:
            found += checkers.all_end(seen, self.world.wall_us)
        self._played.violations += found
        for wrong in self.book.wrong:
            self._found("clients", wrong)
        lost = checkers.all_accounted(seen)
        self._played.unaccounted = len(lost)
        for request_id in lost:
            self._found("accounted", f"{request_id} was acknowledged, and is not there")
        self._played.residue += seen.residue
        self._played.ends += Counter(run.state.value for run in seen.runs)

    def _check_chains(self, reader: Reader) -> None:
        """Every chain holds and every table is what the journal says. A restore cuts what the marker outside still counts."""
        installation = reader.installation
        assert installation is not None, "an installation is never deleted"
        heads = OutsideMarker(
            self.site.state, installation.installation_id, lambda: Place.of(self.site.database)
        ).heads()
        report = verify(reader, () if self.book.restored_us else heads)
        for each in (*report.broken, *report.differences):
            self._found("chains", str(each))

    def _note_journal(self, reader: Reader) -> None:
        digest = hashlib.sha256()
        for number, entry in reader.journal():
            digest.update(f"{number} {entry.run_id} {entry.sequence} {entry.at} {entry.body}".encode())
        self.world.trace.note("journal", digest.hexdigest())

    def _found(self, checker: str, what: str) -> None:
        self._played.violations.append(Violation(checker, what))


@contextmanager
def _undisturbed() -> Generator[None]:
    """No collector runs a dead process's `finally` in the middle of another; no log of what is disturbed on purpose."""
    log = logging.getLogger("counterfoil")
    level, was_on, told = log.level, gc.isenabled(), sys.unraisablehook
    log.setLevel(logging.CRITICAL + 1)
    gc.disable()
    gc.freeze()  # what is loaded stays: only this schedule's own is looked through at its end
    # When all is over Python ends the coroutines of the dead, and their last writes find no loop: as it must be.
    sys.unraisablehook = lambda problem: None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # and coroutines that never began
            yield
            gc.collect()
    finally:
        gc.unfreeze()
        sys.unraisablehook = told
        log.setLevel(level)
        if was_on:
            gc.enable()
