"""Open an application's database: make it if asked, compare it with the outside marker, start its writer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from counterfoil.app.located import Found, InFile, Located
from counterfoil.app.logs import EntryLog
from counterfoil.engine.administration import Install, NewPerson
from counterfoil.engine.boundaries import Boundaries
from counterfoil.engine.clock import Chance, Clock, SteadyClock, SystemClock
from counterfoil.engine.definitions import Registry
from counterfoil.engine.observing import Commits, Observers
from counterfoil.engine.opened import Opened
from counterfoil.engine.standing import stand
from counterfoil.engine.verb import Deadlines
from counterfoil.engine.writer import Touched, Writer
from counterfoil.model.errors import Refused
from counterfoil.model.installation import InstallationRecord
from counterfoil.rules.gate import Gate
from counterfoil.rules.signing import anchored_id
from counterfoil.settings import DEFAULT_DATABASE
from counterfoil.store.artifacts import ArtifactStore
from counterfoil.store.host_id import host_id_in
from counterfoil.store.marker import OutsideMarker
from counterfoil.store.port import Database, Hooks, Verb


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What an installation is given from outside: time, chance, the environment, and what measures a model's answer."""

    clock: Clock
    chance: Chance
    boundaries: Boundaries
    deadlines: Deadlines
    environ: Mapping[str, str]
    usage_of: Callable[[Any], tuple[dict[str, Any], int | None]]
    gate: Gate = Gate.LIVE


@dataclass(frozen=True, slots=True)
class Founding:
    """How a database is made where there is none. `approval_key`: the public half, as hex, of the first approval key."""

    single_person: bool = False
    marker_accepted: bool = False
    people: tuple[NewPerson, ...] = ()
    approval_key: str | None = None


def open_installation(
    registry: Registry,
    where: Located,
    state: Path,
    around: Surroundings,
    founding: Founding | None = None,
    *,
    attested: bool = False,
) -> Opened:
    """`attested`: a person opens it to say that it was restored.

    Raises Refused: no_database, not_ours, newer_schema, no_marker_place, host_unvouched; already_initialised is `Install`'s.
    """
    clock = SteadyClock(around.clock)
    commits, observers = Commits(clock.boot_us), Observers([EntryLog().committed])
    weakened: list[Callable[[], None]] = []  # the marker's, once there is one
    hooks = _hooks(around.boundaries, commits, observers, weakened)
    own_clock = isinstance(around.clock, SystemClock)
    found = where.open(clock, create=founding is not None, hooks=hooks, own_clock=own_clock)
    database = found.database
    try:
        with database.reader() as reader:
            installation = reader.installation
        if installation is None:
            if founding is None:
                raise Refused("no_database", location=where.shown)
            installation = _founded(registry, found, state, around, founding)
        marker = _marker(state, installation, where, found)
        if marker is not None:
            weakened.append(partial(_keep_up, marker, database))
        opened = _opened(registry, where, found, marker, installation, around, clock)
        opened.commits, opened.observers = commits, observers
        if marker is not None and not isinstance(where, InFile):
            opened.host_id = host_id_in(state, lambda: f"host_{around.chance.hex(112)}")
    except BaseException:
        database.close()
        raise
    try:
        if stand(opened, attested=attested):
            opened.boundaries.reach("marker.flushed")
    except BaseException:
        opened.close()
        raise
    return opened


def open_to_look(registry: Registry, where: Located, around: Surroundings) -> Opened:
    """An installation, or a copy of one, in which nothing will be written: its place is compared with nothing.

    Raises Refused: no_database, not_ours, newer_schema.
    """
    clock = SteadyClock(around.clock)
    found = where.open(clock, create=False, hooks=Hooks(), own_clock=isinstance(around.clock, SystemClock))
    try:
        with found.database.reader() as reader:
            installation = reader.installation
        if installation is None:
            raise Refused("no_database", location=where.shown)
        return _opened(registry, where, found, None, installation, around, clock)
    except BaseException:
        found.database.close()
        raise


def _hooks(
    boundaries: Boundaries, commits: Commits, observers: Observers, weakened: Sequence[Callable[[], None]]
) -> Hooks:
    """The clock stands directly around the COMMIT: what drills and tests do at a boundary is not its time."""

    def before(names: list[str]) -> None:
        boundaries.before(names)
        commits.begin()

    def after(names: list[str]) -> None:
        commits.end()
        boundaries.after(names)

    def unconfirmed() -> None:
        for tell in weakened:
            tell()

    return Hooks(before_commit=before, after_commit=after, committed=observers.committed, unconfirmed=unconfirmed)


def _keep_up(marker: OutsideMarker, database: Database) -> None:
    marker.flush(database.marked())


def _founded(
    registry: Registry, found: Found, state: Path, around: Surroundings, founding: Founding
) -> InstallationRecord:
    """Raises Refused(installation_twice): the id is the first approval key's, and two ledgers would give their operations equal keys."""
    key = founding.approval_key
    installation_id = f"inst_{around.chance.hex(112)}" if key is None else anchored_id(key)
    if key is not None:
        if (twin := found.twin(installation_id)) is not None:
            raise Refused("installation_twice", location=f"the schema {twin} of the same database")
        marked = OutsideMarker(state, installation_id, found.place).read() if state.is_dir() else None
        if marked is not None and marked.place.path != found.place().path:
            raise Refused("installation_twice", location=f"{marked.place.path}, as the outside marker says,")
    verb = Install(
        installation_id, registry.name, founding.single_person, founding.marker_accepted, founding.people, key
    )
    (outcome,) = found.database.apply(cast("Sequence[Verb]", [verb]))
    return outcome.unwrap()


def _marker(state: Path, installation: InstallationRecord, where: Located, found: Found) -> OutsideMarker | None:
    """Rule 22: an outside place for the marker, or its absence accepted by name at `init`."""
    if installation.marker_accepted:
        return None
    try:
        state.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise Refused("no_marker_place", problem=str(problem)) from problem
    if isinstance(where, InFile) and state.resolve() == where.path.resolve().parent:
        raise Refused("no_marker_place", problem="the state folder is the database's own folder")
    return OutsideMarker(state, installation.installation_id, found.place)


def _opened(
    registry: Registry,
    where: Located,
    found: Found,
    marker: OutsideMarker | None,
    installation: InstallationRecord,
    around: Surroundings,
    clock: SteadyClock,
) -> Opened:
    default = isinstance(where, InFile) and Path(DEFAULT_DATABASE).absolute() == where.path.absolute()
    listeners: list[Opened] = []

    def committed(run_ids: Touched) -> None:
        for opened in listeners:
            opened.committed(run_ids)

    def named(run_ids: Sequence[str]) -> None:
        for opened in listeners:
            opened.note_heads(run_ids)

    writer = Writer(found.database, marker, lambda: around.boundaries.reach("marker.flushed"), committed, named)
    opened = Opened(
        registry=registry,
        database=found.database,
        writer=writer,
        marker=marker,
        artifacts=ArtifactStore(where.kept(installation.installation_id)),
        clock=clock,
        chance=around.chance,
        boundaries=around.boundaries,
        deadlines=around.deadlines,
        named=None if default else str(where.path.absolute()) if isinstance(where, InFile) else where.shown,
        location=where.beside,
        place=found.place,
        still_there=found.still_there,
        schema_version=found.schema_version,
        locks=where.locks(installation.installation_id),
        installation_id=installation.installation_id,
        environ=around.environ,
        usage_of=around.usage_of,
        gate=around.gate,
    )
    listeners.append(opened)
    return opened
