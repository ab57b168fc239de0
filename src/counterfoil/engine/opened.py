"""What is open while an application is in use: one database, its writer, its marker, and the clock they share."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterfoil.engine.boundaries import Boundaries
from counterfoil.engine.clock import Chance, SteadyClock
from counterfoil.engine.definitions import Registry
from counterfoil.engine.observing import Commits, Observers
from counterfoil.engine.partials import Partials
from counterfoil.engine.under_way import UnderWay
from counterfoil.engine.verb import Deadlines
from counterfoil.engine.writer import Touched, Writer
from counterfoil.model.installation import HostRecord, InstallationRecord
from counterfoil.model.run import RunRecord
from counterfoil.rules.gate import Gate
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.marker import Difference, Head, Marked, OutsideMarker, Place, compare
from counterfoil.store.port import Database, Reader


def no_usage(result: Any) -> tuple[dict[str, Any], int | None]:
    """Usage and cost in micro-USD of a model's answer, where nothing measures them."""
    del result
    return {}, None


@dataclass(slots=True)
class Opened:
    """Everything that verbs and runners are given. `locks`: the folder of process locks.

    `named`: what `--db` must say to find it, None where the default does. `location`: the database's file; with a
    server a path of no file. What belongs to whoever works here (logs, secrets, keys) lies in its folder.
    """

    registry: Registry
    database: Database
    writer: Writer
    marker: OutsideMarker | None
    artifacts: ArtifactStore
    clock: SteadyClock
    chance: Chance
    boundaries: Boundaries
    deadlines: Deadlines
    named: str | None
    location: Path
    place: Callable[[], Place]
    still_there: Callable[[Place], bool]
    schema_version: Callable[[], int]
    locks: Path
    installation_id: str
    environ: Mapping[str, str]
    usage_of: Callable[[Any], tuple[dict[str, Any], int | None]] = no_usage
    gate: Gate = Gate.LIVE
    listeners: set[Callable[[Touched], object]] = field(default_factory=lambda: set())
    observers: Observers = field(default_factory=Observers)
    commits: Commits = field(default_factory=lambda: Commits(lambda: 0))
    partials: Partials = field(default_factory=Partials)  # what models have answered so far, for who watches
    host_id: str | None = None  # of this host on a server; None for a file, which has one marker
    under_way: UnderWay = field(default_factory=UnderWay)  # the attempts of this process
    session: str = ""  # this opening's own name: a key whose scope is the session is good only within it

    def clock_jumped(self) -> bool:
        """Whether the wall clock and the clock that counts sleep have drifted apart since this was opened."""
        return self.clock.jumped()

    def __post_init__(self) -> None:
        self.session = self.chance.hex(64)

    def read(self) -> AbstractContextManager[Reader]:
        """One consistent snapshot."""
        return self.database.reader()

    async def write(self, verb: Any) -> Any:
        """Queue a verb; its answer comes after the COMMIT that carries it."""
        return await self.writer.submit(verb)

    def installation(self) -> InstallationRecord:
        with self.read() as reader:
            found = reader.installation
        assert found is not None, "an opened database has an installation"
        return found

    def compared(self) -> tuple[Marked | None, InstallationRecord, Difference | None]:
        """What the outside marker holds, the installation, and how they differ. Raises Refused or StorageError."""
        marked = None if self.marker is None else self.marker.read()  # first: the database may only be ahead of it
        with self.read() as reader:
            installation = reader.installation
            rolling = None if marked is None else reader.rolling_at(marked.mark.in_flight_batch)
            hosts = [] if self.host_id is None else list(reader.rows(HostRecord))
        assert installation is not None, "an opened database has an installation"
        if self.marker is None:
            return None, installation, None
        return marked, installation, compare(marked, installation, self.place(), rolling, self.still_there, hosts)

    def committed(self, run_ids: Touched) -> None:
        """Told by the writer's thread which runs a commit touched."""
        for listener in tuple(self.listeners):
            listener(run_ids)

    def note_heads(self, run_ids: Iterable[str]) -> None:
        """Runs that parked or ended, or for which something leaves now: the heads of their chains are counted outside.

        Called by the writer's thread.
        """
        if self.marker is None:
            return
        with self.read() as reader:
            runs = [run for run_id in run_ids if (run := reader.get(RunRecord, run_id)) is not None]
        self.marker.append_heads(Head(run.run_id, run.sequence, run.head) for run in runs)

    def close(self) -> None:
        self.writer.close()
        self.database.close()
