"""Where a simulated installation lives: its folder, its processes' openings of it, and what is disturbed at their boundaries."""

import asyncio
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from counterfoil.app.application import App
from counterfoil.app.duties.known import DUTIES
from counterfoil.app.duties.rounds import Rounds
from counterfoil.app.located import InFile
from counterfoil.app.opening import Founding, Surroundings, open_installation
from counterfoil.engine.administration import NewPerson
from counterfoil.engine.boundaries import Boundaries
from counterfoil.engine.clock import Chance, SystemClock
from counterfoil.engine.opened import Opened
from counterfoil.engine.verb import Deadlines
from counterfoil.engine.worker import Worker
from counterfoil.store.port import Database, StorageError
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.simulate.application import PEOPLE, application
from counterfoil.testing.simulate.clock import SimulatedClock
from counterfoil.testing.simulate.world import Process, World

SECOND_US = 1_000_000
DEADLINES = Deadlines(pending=60 * SECOND_US, running=120 * SECOND_US, lease=15 * SECOND_US)
LOOK_US = 5 * SECOND_US  # the longest that nobody looks: a heartbeat, or a duty, may be due
_SILENT = frozenset({"worker.seen", "lease.renewed"})  # commits that are news to nobody
_NO_COMMIT = frozenset({"operation.first_byte", "operation.replied"})


class SimulatedApp(App):
    """The application in one process: the registry of its code, and what this process has open."""

    def __init__(self, variant: str, opened: Opened) -> None:
        super().__init__("simulated")
        self.registry = opened.registry
        self.variant = variant
        self._here = opened

    def open(self, founding: Founding | None = None, *, attested: bool = False) -> Opened:
        """What this process has open."""
        del founding, attested
        return self._here


class Site:
    """The folders of one installation. `folder` is of this schedule alone."""

    def __init__(self, world: World, folder: Path) -> None:
        self.world = world
        self.folder = folder
        self.database = folder / "db" / "simulated.db"
        self.state = folder / "state"
        self.database.parent.mkdir(parents=True)
        self.workers: dict[str, Worker] = {}
        self._opened: list[Database] = []
        self._looking: tuple[int, SqliteDatabase] | None = None
        self._version = 0
        self._due: tuple[int, int | None, int] = (-1, None, 0)
        self._news: dict[Process, bool] = {}
        self._looked: dict[Process, int] = {}
        self._chance = world.chance("boundaries")
        self._backups = 0

    @property
    def is_founded(self) -> bool:
        """Whether somebody has made the database."""
        return bool(self._opened)

    # ------------------------------------------------------------------ processes

    def open(self, process: Process, variant: str, *, founds: bool = False) -> SimulatedApp:
        """As a process that starts opens its database. Raises Refused as `open_installation` does."""
        boundaries = Boundaries(observers=[lambda when, names: self._meet(process, when, names)])
        clock = SimulatedClock(self.world, process, lambda: self._has_looked(process))
        chance = Chance(self.world.chance(f"names of {process.number}").getrandbits(64))
        around = Surroundings(clock, chance, boundaries, DEADLINES, {}, _usage)
        people = tuple(NewPerson(name, roles, "none") for name, roles in PEOPLE.items())
        founding = Founding(people=people) if founds else None
        opened = open_installation(application(variant).registry, InFile(self.database), self.state, around, founding)
        process.reason_at = lambda: self._reason(process, opened)
        self._opened.append(opened.database)
        return SimulatedApp(variant, opened)

    def start_worker(self, variant: str, *, duties: bool) -> Process:
        """A process with a worker in it, as `counterfoil worker` starts it."""
        process = self.world.process(f"worker-{len(self.workers) + 1}")
        process.start(self._work(process, variant, duties))
        return process

    async def _work(self, process: Process, variant: str, duties: bool) -> None:
        self.world.trace.note(process.name, f"starts with the code {variant}")
        app = self.open(process, variant)
        worker = self.workers[process.name] = Worker(app.open(), concurrency=16)
        stop = asyncio.Event()
        rounds = process.start(Rounds(app, DUTIES).run(stop)) if duties else None
        await worker.run()
        process.problems += worker.problems
        if rounds is not None:
            rounds.cancel()
        self.world.trace.note(process.name, "ends")
        process.die()

    # ------------------------------------------------------------------ files

    def back_up(self) -> Path:
        """A copy of the database's files, as a backup tool takes it between two commits."""
        self._backups += 1
        place = self.folder / f"backup-{self._backups}"
        place.mkdir()
        for file in sorted(self.database.parent.glob("simulated.db*")):
            if file.is_file() and not file.name.endswith("-shm"):
                shutil.copyfile(file, place / file.name)
        return place

    def looking(self) -> SqliteDatabase:
        """The database as whoever looks from outside opens it: no process of the simulation."""
        inode = self.database.stat().st_ino
        if self._looking is None or self._looking[0] != inode:
            self._looking = (inode, SqliteDatabase(self.database, SystemClock()))
            self._opened.append(self._looking[1])
        return self._looking[1]

    def put_back(self, backup: Path) -> None:
        """The backup in the database's place. Nobody has it open."""
        for ending in ("", "-wal", "-shm"):
            self.database.with_name(self.database.name + ending).unlink(missing_ok=True)
        for file in sorted(backup.iterdir()):
            shutil.copyfile(file, self.database.with_name(file.name))
        self._version += 1

    def close(self) -> None:
        """Let go of every file that any process, dead or alive, has open."""
        for database in self._opened:
            database.close()

    # ------------------------------------------------------------------ looks

    def _reason(self, process: Process, opened: Opened) -> int | None:
        if self._news.get(process):
            return 0
        if self._due[0] != self._version:
            with opened.read() as reader:
                installation = reader.installation
                self._due = (self._version, reader.due.next(), installation.clock_us if installation else 0)
        again = self._looked.get(process, 0) + LOOK_US
        _, due, newest = self._due
        if due is None:
            return again
        # A worker claims by the ledger's time, which is ahead of a clock that was put back.
        return 0 if due <= newest else min(again, due - self.world.wall_us + self.world.boot_us)

    def _has_looked(self, process: Process) -> None:
        self._news[process] = False
        self._looked[process] = self.world.boot_us

    # ------------------------------------------------------------------ boundaries

    def _meet(self, process: Process, when: str, names: Sequence[str]) -> None:
        process.check()
        world = self.world
        world.trace.note(process.name, f"{when} {' '.join(names)}")
        commits = names[0] not in _NO_COMMIT
        if when == "before" and commits:
            world.pass_time(self._chance.randrange(50, 3_000))
        if when == "after" and commits:
            self._version += 1
            if not _SILENT.issuperset(names):
                for other in world.processes:
                    self._news[other] = self._news.get(other, False) or other is not process
        self._disturb(process, when, commits and names[0] != "marker.flushed")

    def _disturb(self, process: Process, when: str, is_commit: bool) -> None:
        world, drawn = self.world, self._chance.random()
        if drawn < world.chance_of("kill-at-boundary"):
            world.hit("kill-at-boundary")
            process.die()
        drawn = self._chance.random()
        if drawn < world.chance_of("freeze-at-boundary"):
            world.hit("freeze-at-boundary")
            process.freeze(self._chance.choice((0.5, 10.0, 40.0, 150.0)))
        drawn = self._chance.random()
        if is_commit and drawn < world.chance_of("storage-fails"):
            world.hit("storage-fails")
            world.trace.note(process.name, f"its disk fails {when} the commit")
            if when == "before":
                raise StorageError("disk_full", problem="simulated")
            # The commit stands, and whoever asked is told that its fate is open.
            raise StorageError("storage_failed", problem="simulated")


def _usage(result: Any) -> tuple[dict[str, Any], int | None]:
    del result
    return {}, 20_000  # each answer of the model costs 0.02 USD
