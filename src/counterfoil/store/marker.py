"""The outside marker: how far sending had come, kept where a restore of the database does not reach.

Two files in a folder of the caller's choice: `<installation>.json`, replaced as a whole, and `<installation>.heads`,
where one line is appended when a run parks or ends, and before the first thing leaves for it. A clone has two of its own,
named after its path as well. On a server each host has them in its own state folder, or several share one.
"""

import fcntl
import hashlib
import json
from collections.abc import Callable, Collection, Generator, Iterable
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event, Lock
from typing import Any, Literal

from counterfoil.model.errors import Refused
from counterfoil.model.installation import HostRecord, InstallationRecord
from counterfoil.store.durable_file import append_line, failures_of, replace_file
from counterfoil.store.port import Mark, StorageError

BUSY_SECONDS, PAUSE_SECONDS = 10.0, 0.005

Difference = Literal["behind", "missing", "copied", "moved", "rolled", "promoted", "forgotten"]

SENTENCES: dict[Difference, str] = {
    "behind": "The database is older than what was sent from it: it was restored.",
    "missing": "The database is not empty, and its outside marker is not there.",
    "copied": "The file that the marker knows is still there: this is a copy of it, opened elsewhere.",
    "moved": "The database has another path or file than the marker knows, and the same content.",
    "rolled": "The database has another history than the one that was sent from: it was restored and went on.",
    "promoted": "The server was promoted from a standby that commits had not waited for, or was recovered to an earlier time.",
    "forgotten": "This host has worked with the database, which does not know it: it was restored to a time before.",
}


@dataclass(frozen=True, slots=True)
class Place:
    """Which file the database is: its absolute path and its inode (no device number, which a reboot may change).

    On a server: the names that the server gives itself, the database and the schema, and the number of the database.
    `line`: the server's timeline, 0 for a file. `confirmed`: whether commits were answered only once a standby had them.
    """

    path: str
    inode: int
    line: int = field(default=0, compare=False)
    confirmed: bool = field(default=False, compare=False)

    @staticmethod
    def of(database: Path) -> "Place":
        """The place of an existing file."""
        return Place(str(database.resolve()), database.stat().st_ino)


@dataclass(frozen=True, slots=True)
class Marked:
    """What the marker holds. `host`: the host that the database knew when it was flushed, None where none was registered."""

    mark: Mark
    place: Place
    host: str | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain at the time a run parked or ended, or was about to send."""

    run_id: str
    sequence: int
    head: bytes


class OutsideMarker:
    """The marker of one installation. May be used from several threads; several processes take the highest."""

    def __init__(self, folder: Path, installation_id: str, place: Callable[[], Place]) -> None:
        self._folder = folder
        self._name, self._own_name = installation_id, f"{installation_id}-{_digest_of(place())}"
        self._place = place
        self._host: str | None = None
        self._lock = Lock()
        if self._named(self._own_name, "json").exists():
            self._name = self._own_name

    def set_apart(self) -> None:
        """From here on this is the marker of a clone: one of its own, so that its original goes on undisturbed.

        It is known by the database's path, and kept from its first flush on. Without that flush the next opening compares
        with the original's marker again, and finds a copy.
        """
        with self._lock:
            self._name = self._own_name

    def registered(self, host_id: str) -> None:
        """The database knows this host now, so a database that does not is an older one: said with each flush from here on."""
        with self._lock:
            self._host = host_id

    @property
    def _file(self) -> Path:
        return self._named(self._name, "json")

    @property
    def _heads(self) -> Path:
        return self._named(self._name, "heads")

    def _named(self, name: str, ending: str) -> Path:
        return self._folder / f"{name}.{ending}"

    def flush(self, mark: Mark) -> None:
        """Store the mark; on disk when it returns. Raises StorageError.

        It never goes back, since several processes flush the same marker: an older mark changes nothing. Neither does
        one of another file, unless its incarnation is higher: then a restore was begun there, which takes it over.
        """
        with self._lock, failures_of("the outside marker"), self._alone():
            marked, known = Marked(mark, self._place(), self._host), self._read()
            if known is None or _follows(marked, known):
                self._write(marked if known is None or marked.host else replace(marked, host=known.host))

    def read(self) -> Marked | None:
        """What is stored, or None when there is no marker. Raises Refused(storage_failed) for one that is no marker."""
        with self._lock, failures_of("the outside marker"):
            return self._read()

    def append_head(self, head: Head) -> None:
        """Add a line, flushed. Raises StorageError."""
        self.append_heads([head])

    def append_heads(self, heads: Iterable[Head]) -> None:
        """Add a line for each, flushed together. Raises StorageError."""
        lines = "".join(
            json.dumps({"run_id": head.run_id, "sequence": head.sequence, "head": head.head.hex()}) + "\n"
            for head in heads
        )
        if lines:
            with self._lock, failures_of("the outside marker"):
                append_line(self._heads, lines.encode())

    def heads(self) -> list[Head]:
        """The newest line of each chain. A last line that a crash has cut off is left out."""
        with self._lock, failures_of("the outside marker"):
            text = self._heads.read_text("utf-8") if self._heads.exists() else ""
        newest: dict[str, Head] = {}
        for line in text.splitlines():
            with suppress(ValueError, KeyError, TypeError):
                content = json.loads(line)
                newest[content["run_id"]] = Head(
                    content["run_id"], int(content["sequence"]), bytes.fromhex(content["head"])
                )
        return list(newest.values())

    def files(self) -> tuple[bytes, bytes] | None:
        """What both files hold now, for a backup; None where there is no marker. Raises StorageError.

        It names no file that there is: put back together with a database of the same instant, it still tells of a restore.
        """
        with self._lock, failures_of("the outside marker"):
            if not self._file.exists():
                return None
            content = json.loads(self._file.read_bytes()) | {"inode": 0}
            return json.dumps(content).encode(), self._heads.read_bytes() if self._heads.exists() else b""

    @contextmanager
    def _alone(self) -> Generator[None, None, None]:
        """No other process flushes meanwhile: between reading the old mark and replacing it, it could go back."""
        self._file.parent.mkdir(parents=True, exist_ok=True)
        with self._file.with_suffix(".lock").open("w") as file:
            _locked(file.fileno())
            yield

    def _read(self) -> Marked | None:
        try:
            content: dict[str, Any] = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError as problem:
            raise _damaged(self._file) from problem
        try:
            return Marked(
                Mark(
                    content["installation_id"],
                    content["incarnation"],
                    content["in_flight_batch"],
                    content["batches"],
                    bytes.fromhex(content["rolling"]),
                ),
                Place(content["path"], content["inode"], content.get("line", 0), content.get("confirmed", False)),
                content.get("host"),
            )
        except (KeyError, TypeError, ValueError) as problem:
            raise _damaged(self._file) from problem

    def _write(self, marked: Marked) -> None:
        mark, place = marked.mark, marked.place
        content = {
            "installation_id": mark.installation_id,
            "incarnation": mark.incarnation,
            "in_flight_batch": mark.in_flight_batch,
            "batches": mark.batches,
            "rolling": mark.rolling.hex(),
            "path": place.path,
            "inode": place.inode,
            "line": place.line,
            "confirmed": place.confirmed,
            "host": marked.host,
        }
        replace_file(self._file, json.dumps(content).encode())


def _digest_of(place: Place) -> str:
    return hashlib.sha256(place.path.encode()).hexdigest()[:16]


def _locked(file: int) -> None:
    """Take the lock, or say so: whoever holds it may be frozen, and nobody should wait for it for ever in silence."""
    pause = Event()
    for _ in range(round(BUSY_SECONDS / PAUSE_SECONDS)):
        with suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        pause.wait(PAUSE_SECONDS)
    raise StorageError("database_busy", seconds=f"{BUSY_SECONDS:g}", holder="")


def compare(
    marked: Marked | None,
    installation: InstallationRecord,
    place: Place,
    rolling: bytes | None,
    still_there: Callable[[Place], bool],
    hosts: Collection[HostRecord] = (),
) -> Difference | None:
    """How a database stands to its marker; None when it is the one that was sent from.

    `rolling` is the database's rolling digest at the marker's commit (`Reader.rolling_at`), None when it has no such commit.
    `still_there`: whether what the marker knows lies where it lay, besides this one. `hosts`: those that the database knows. The
    database may be ahead: a crash came between a commit and its marker. So after a comparison that found nothing the caller
    flushes the marker.
    """
    if marked is None:
        # The first commit only puts the installation there. A restored one may not know that it ever sent.
        return "missing" if installation.batches > 1 else None
    mark = marked.mark
    if mark.installation_id != installation.installation_id:
        return "rolled"
    if _order(mark) > (installation.incarnation, installation.in_flight_batch):
        return "behind"
    if mark.in_flight_batch > 0 and mark.incarnation == installation.incarnation and rolling != mark.rolling:
        return "rolled"
    if marked.place == place:
        if marked.host is not None and all(host.host_id != marked.host for host in hosts):
            return "forgotten"
        return "promoted" if _promoted(marked, installation, place, hosts) else None
    return "copied" if still_there(marked.place) else "moved"


def _promoted(marked: Marked, installation: InstallationRecord, place: Place, hosts: Collection[HostRecord]) -> bool:
    """Of what was sent nothing is lost; what else was, nobody can tell, unless each commit had waited for a standby.

    Not where another host has seen this timeline, and a restore was begun since this marker was flushed: it is counted already.
    """
    if marked.place.line in (0, place.line) or marked.place.confirmed:
        return False
    begun = marked.mark.incarnation < installation.incarnation
    return not (begun and any(host.known_at is not None and host.line == place.line for host in hosts))


def file_still_there(known: Place, here: Place) -> bool:
    """Whether the file that a marker knows still lies where it lay, besides the one that is here."""
    try:
        return known.path != here.path and Place.of(Path(known.path)).inode == known.inode
    except OSError:
        return False


def _follows(marked: Marked, known: Marked) -> bool:
    if marked.place != known.place:
        return marked.mark.incarnation > known.mark.incarnation
    return _order(marked.mark) >= _order(known.mark)


def _order(mark: Mark) -> tuple[int, int]:
    return mark.incarnation, mark.in_flight_batch


def _damaged(file: Path) -> Refused:
    return StorageError("storage_failed", problem=f"the outside marker {file} is not readable as one")
