"""A disk for SQLite that forgets what was not flushed: power cuts, torn writes, full disks, failed flushes.

SQLite writes into memory here (what programs see), and only a flush carries a file into the real folder (what the
disk keeps). So the real folder is at every moment a possible image after a power cut, also when the process is
killed from outside. File names follow the same rule: a creation or deletion is kept only once its folder was flushed.

    with PowerCut(cut_at=7, survive="random", seed=3) as power:
        connection = apsw.Connection(str(path), vfs=power.vfs_name)
        ...                          # raises PowerWasCut in the seventh flush; from then on every access fails
        power.freeze_to(folder)      # what is left, as plain files

Limits. One process: others see only what was flushed. `-shm` is passed through (SQLite builds it anew after a crash).
Files that SQLite does not open (locks, the outside marker) are not in this layer. One PowerCut is one time between two
starts of a machine. An error out of COMMIT is doubt: apsw also raises what befell the checkpoint after a COMMIT that is
done. A ROLLBACK after PowerWasCut may raise apsw.Error in its place; `gone` says what happened.
"""

import os
import signal
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from random import Random
from threading import RLock
from typing import Literal

import apsw

Survive = Literal["none", "prefix", "random"]
"""What of the unflushed changes is found after the cut.

none: nothing. prefix: the oldest ones, up to a drawn point or all. random: each sector by itself at drawn odds, and
the oldest creations and deletions up to a drawn point (file systems keep those in order).
"""

SECTOR_BYTES = 512  # disks promise no more than one sector at a time: a longer write can be torn at these bounds


class PowerWasCut(BaseException):
    """The power is gone: no access to a file of this disk succeeds any more. Not an Exception, so no retry hides it."""


@dataclass(slots=True, eq=False)
class _Inode:
    """One file without its name. `real` is a descriptor of the file in the real folder, None while it has none there.

    The descriptor stays open: closing any descriptor of a file drops all locks this process holds on it.
    """

    seen: bytearray
    kept: bytearray
    real: int | None = None

    def close(self) -> None:
        if self.real is not None:
            os.close(self.real)
        self.real = None


@dataclass(frozen=True, slots=True)
class _Write:
    inode: _Inode
    offset: int
    data: bytes


@dataclass(frozen=True, slots=True)
class _Truncate:
    inode: _Inode
    size: int


@dataclass(frozen=True, slots=True, eq=False)
class _Entry:
    """A name in a folder now means this file, or no file."""

    path: str
    inode: _Inode | None


_Change = _Write | _Truncate | _Entry


def _apply(content: bytearray, change: _Write | _Truncate) -> None:
    end = change.size if isinstance(change, _Truncate) else change.offset + len(change.data)
    if isinstance(change, _Truncate):
        del content[end:]
    content.extend(bytes(max(0, end - len(content))))
    if isinstance(change, _Write):
        content[change.offset : end] = change.data


def _torn(changes: Iterable[_Change]) -> Iterator[_Change]:
    for change in changes:
        if not isinstance(change, _Write):
            yield change
            continue
        start, end = change.offset, change.offset + len(change.data)
        bounds = [start, *range(start - start % SECTOR_BYTES + SECTOR_BYTES, end, SECTOR_BYTES), end]
        for first, after in pairwise(bounds):
            yield _Write(change.inode, first, change.data[first - start : after - start])


def _survivors(changes: Sequence[_Change], survive: Survive, chance: Random) -> list[_Change]:
    if survive == "none":
        return []
    pieces = list(_torn(changes))
    if survive == "prefix":
        return pieces[: chance.choice((len(pieces), chance.randint(0, len(pieces))))]
    entries = [piece for piece in pieces if isinstance(piece, _Entry)]
    oldest, odds = entries[: chance.randint(0, len(entries))], chance.choice((0.1, 0.5, 0.9, 0.99, 1))
    return [piece for piece in pieces if (piece in oldest if isinstance(piece, _Entry) else chance.random() < odds)]


@dataclass(slots=True)
class _Disk:
    """Names and contents as seen and as kept, and the changes that lie between the two, oldest first."""

    seen: dict[str, _Inode | None] = field(default_factory=dict[str, _Inode | None])
    kept: dict[str, _Inode | None] = field(default_factory=dict[str, _Inode | None])
    waiting: list[_Change] = field(default_factory=list[_Change])

    def find(self, path: str) -> _Inode | None:
        """The file that programs see under this name; at first what is in the real folder."""
        if path not in self.seen:
            inode = None
            if os.path.isfile(path):
                real = os.open(path, os.O_RDWR)
                content = os.pread(real, os.fstat(real).st_size, 0)
                inode = _Inode(bytearray(content), bytearray(content), real)
            self.seen[path] = self.kept[path] = inode
        return self.seen[path]

    def name(self, path: str, inode: _Inode | None) -> None:
        self.seen[path] = inode
        self.waiting.append(_Entry(path, inode))

    def change(self, change: _Write | _Truncate) -> None:
        _apply(change.inode.seen, change)
        self.waiting.append(change)

    def size(self) -> int:
        return sum(len(inode.seen) for inode in self.seen.values() if inode is not None)

    def take(self, inode: _Inode | None, folder: str | None) -> list[_Change]:
        """What a flush of this file and this folder carries to the disk. It no longer waits."""

        def due(change: _Change) -> bool:
            return os.path.dirname(change.path) == folder if isinstance(change, _Entry) else change.inode is inode

        taken = [change for change in self.waiting if due(change)]
        self.waiting = [change for change in self.waiting if not due(change)]
        return taken

    def keep(self, changes: Iterable[_Change]) -> None:
        """Carry changes to the real folder. Killed halfway it is a flush that never returned, which loses nothing."""
        for change in changes:
            if isinstance(change, _Entry):
                self._keep_entry(change)
                continue
            _apply(change.inode.kept, change)
            if (real := change.inode.real) is not None:
                if isinstance(change, _Truncate):
                    os.ftruncate(real, change.size)
                else:
                    os.pwrite(real, change.data, change.offset)

    def drop(self) -> None:
        """Forget all that was not kept, also files that exist for real only because SQLite needs one to lock."""
        self.waiting.clear()
        for path in self.seen:
            if self.kept.get(path) is None:
                Path(path).unlink(missing_ok=True)

    def close(self) -> None:
        for inode in {*self.seen.values(), *self.kept.values()}:
            if inode is not None:
                inode.close()

    def _keep_entry(self, entry: _Entry) -> None:
        before, self.kept[entry.path] = self.kept.get(entry.path), entry.inode
        if before is not None:
            os.unlink(entry.path)
            before.close()
        if entry.inode is not None and entry.inode.real is None:
            entry.inode.real = os.open(entry.path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
            os.pwrite(entry.inode.real, entry.inode.kept, 0)


class PowerCut(AbstractContextManager["PowerCut"]):
    """One disk, reachable for SQLite under `vfs_name`, whose power goes at flush number `cut_at` (from 1; None: never).

    The flush at which it goes is not done. Flushes are counted over all files and folders of the disk. With `kill`
    this process ends by SIGKILL at the cut, once the surviving image is in the real folder; without it PowerWasCut
    is raised. With `default` every connection of this process that names no layer of its own is opened here.
    """

    def __init__(
        self,
        *,
        cut_at: int | None = None,
        survive: Survive = "none",
        seed: int = 0,
        kill: bool = False,
        default: bool = False,
    ) -> None:
        self.flushes, self.gone = 0, False
        self.cut_at, self._kill, self._disk, self._lock = cut_at, kill, _Disk(), RLock()
        self._survive: Survive = survive
        self._chance = Random(f"{seed} {cut_at}")  # one seed draws anew at each flush number
        self._capacity_bytes: int | None = None
        self._fails_at: int | None = None
        self.vfs_name = f"powercut-{id(self):x}"
        self._layer = _Layer(self, apsw.vfs_names()[0], default)

    def __exit__(self, *_: object) -> None:
        self.close()

    def cut(self) -> None:
        """Cut the power now. The real folder then holds what survived. Raises nothing; the next access does."""
        with self._lock:
            if not self.gone:
                self.gone = True
                self._disk.keep(_survivors(self._disk.waiting, self._survive, self._chance))
                self._disk.drop()
            if self._kill:
                os.kill(os.getpid(), signal.SIGKILL)

    def freeze_to(self, folder: Path) -> None:
        """Write what survived as plain files of the same names. In this process open these and not the real folder.

        SQLite shares its locks and `-shm` memory by file within a process, so dead connections would still speak.
        Raises RuntimeError while the power is on.
        """
        if not self.gone:
            raise RuntimeError("The power is still on. Call cut() first.")
        folder.mkdir(parents=True, exist_ok=True)
        for path, inode in self._disk.kept.items():
            if inode is not None:
                (folder / Path(path).name).write_bytes(inode.kept)

    def disk_full_after(self, more_bytes: int | None) -> None:
        """Let files grow by this much in all, then refuse with SQLITE_FULL; None lifts it. Overwriting needs no room."""
        with self._lock:
            self._capacity_bytes = None if more_bytes is None else self._disk.size() + more_bytes

    def flush_fails_at(self, number: int) -> None:
        """Fail the flush of this number, once, with SQLITE_IOERR_FSYNC.

        As on Linux, the data of that flush counts as clean afterwards: still seen, and no later flush writes it.
        """
        self._fails_at = number

    def close(self) -> None:
        """Shut down in order (if the power is on, the real folder gets everything). Close the connections before."""
        with self._lock:
            if not self.gone:
                self._disk.keep(self._disk.waiting)
            self.gone = True
            self._layer.unregister()
            self._disk.close()

    @contextmanager
    def disk(self) -> Generator[_Disk, None, None]:
        """The disk, for one access of SQLite at a time. Raises PowerWasCut when the power is gone."""
        with self._lock:
            if self.gone:
                raise PowerWasCut
            yield self._disk

    def write(self, inode: _Inode, offset: int, data: bytes) -> None:
        """Write, or write the part that fits and raise SQLITE_FULL."""
        with self.disk() as disk:
            growth = max(0, offset + len(data) - len(inode.seen))
            lacking = 0 if self._capacity_bytes is None else disk.size() + growth - self._capacity_bytes
            full = growth > 0 and lacking > 0
            fitting = data[: max(0, len(data) - lacking)] if full else data
            if fitting:
                disk.change(_Write(inode, offset, fitting))
            if full:
                raise apsw.exception_for(apsw.SQLITE_FULL)

    def flush(self, inode: _Inode | None, folder: str | None) -> None:
        """Flush a file, the names in a folder, or both; or cut the power, or fail, if this is the flush for it."""
        with self.disk() as disk:
            self.flushes += 1
            if self.flushes == self.cut_at:
                self.cut()
                raise PowerWasCut
            if self.flushes == self._fails_at:
                disk.keep(_survivors(disk.take(inode, None), self._survive, self._chance))
                raise apsw.exception_for(apsw.SQLITE_IOERR_FSYNC)
            disk.keep(disk.take(inode, folder))


class _File(apsw.VFSFile):
    """A journal or write-ahead log. Nobody locks these, so the real layer is not asked and not initialised."""

    def __init__(self, power: PowerCut, inode: _Inode, folder: str | None) -> None:
        # SQLite flushes the folder with the first flush of a new journal, and for no other file.
        self._power, self._inode, self._folder = power, inode, folder

    def xRead(self, amount: int, offset: int) -> bytes:
        with self._power.disk():
            return bytes(self._inode.seen[offset : offset + amount])

    def xWrite(self, data: bytes | memoryview, offset: int) -> None:
        self._power.write(self._inode, offset, bytes(data))

    def xTruncate(self, newsize: int) -> None:
        with self._power.disk() as disk:
            disk.change(_Truncate(self._inode, newsize))

    def xSync(self, flags: int) -> None:
        self._power.flush(self._inode, self._folder)
        self._folder = None

    def xFileSize(self) -> int:
        with self._power.disk():
            return len(self._inode.seen)

    def xSectorSize(self) -> int:
        return SECTOR_BYTES

    def xDeviceCharacteristics(self) -> int:
        # What SQLite takes for granted everywhere: a torn write damages no byte outside its own range.
        return apsw.SQLITE_IOCAP_POWERSAFE_OVERWRITE

    def xFileControl(self, op: int, ptr: int) -> bool:
        return False

    def xCheckReservedLock(self) -> bool:
        return False

    def xLock(self, level: int) -> None: ...
    def xUnlock(self, level: int) -> None: ...
    def xClose(self) -> None: ...


class _Database(_File):
    """The main file: its content is ours, its locks and shared memory are those of the real file."""

    def __init__(self, power: PowerCut, base: str, name: "str | apsw.URIFilename", path: str, flags: list[int]) -> None:
        with power.disk() as disk:
            inode = disk.find(path)
            apsw.VFSFile.__init__(self, base, name, flags)
            if inode is None:
                inode = _Inode(bytearray(), bytearray(), os.open(path, os.O_RDWR))
                disk.name(path, inode)
        super().__init__(power, inode, None)

    def xFileControl(self, op: int, ptr: int) -> bool:
        # These two let the real layer grow the real file, which only a flush may do.
        grows = op in (apsw.SQLITE_FCNTL_SIZE_HINT, apsw.SQLITE_FCNTL_CHUNK_SIZE)
        return grows or apsw.VFSFile.xFileControl(self, op, ptr)

    xCheckReservedLock = apsw.VFSFile.xCheckReservedLock
    xLock = apsw.VFSFile.xLock
    xUnlock = apsw.VFSFile.xUnlock
    xClose = apsw.VFSFile.xClose


class _Layer(apsw.VFS):
    def __init__(self, power: PowerCut, base: str, default: bool) -> None:
        self._power, self._base = power, base
        super().__init__(power.vfs_name, base, default, maxpathname=0)

    def xOpen(self, name: "str | apsw.URIFilename | None", flags: list[int]) -> apsw.VFSFile:
        if name is None:
            return apsw.VFSFile(self._base, name, flags)  # a temporary file: gone after a crash in any case
        path = name if isinstance(name, str) else name.filename()
        if flags[0] & apsw.SQLITE_OPEN_MAIN_DB:
            return _Database(self._power, self._base, name, path, flags)
        flags[1] = flags[0]
        with self._power.disk() as disk:
            inode = disk.find(path)
            if inode is not None:
                return _File(self._power, inode, None)
            if not flags[0] & apsw.SQLITE_OPEN_CREATE:
                raise apsw.exception_for(apsw.SQLITE_CANTOPEN)
            inode = _Inode(bytearray(), bytearray())
            disk.name(path, inode)
            return _File(self._power, inode, os.path.dirname(path))

    def xAccess(self, pathname: str, flags: int) -> bool:
        with self._power.disk() as disk:
            if flags != apsw.SQLITE_ACCESS_EXISTS:
                return super().xAccess(pathname, flags)  # rights, asked of folders
            inode = disk.find(pathname)
            return os.path.isdir(pathname) if inode is None else len(inode.seen) > 0  # SQLite takes empty for missing

    def xDelete(self, filename: str, syncdir: bool) -> None:
        with self._power.disk() as disk:
            if disk.find(filename) is None:
                raise apsw.exception_for(apsw.SQLITE_IOERR_DELETE_NOENT)
            disk.name(filename, None)
            if syncdir:
                self._power.flush(None, os.path.dirname(filename))
