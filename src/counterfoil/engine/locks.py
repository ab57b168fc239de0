"""One file lock per process, in the database's folder: a lock that is free proves that its holder is gone from this host."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from counterfoil.engine import descriptors
from counterfoil.engine.clock import boot_id, host_name, machine_of


class Held(Protocol):
    """What an attempt or a worker row says of its process."""

    @property
    def worker_id(self) -> str: ...

    @property
    def host(self) -> str: ...

    @property
    def boot_id(self) -> str: ...


class ProcessLock:
    """Held from start to end of the process that sends. The system frees it when the process dies, however it dies."""

    def __init__(self, folder: Path, worker_id: str) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / f"{worker_id}.lock"
        # A forked child would hold the lock as well, and a worker that is dead would seem to live as long as the child.
        self._file = descriptors.only_here(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def release(self) -> None:
        # The file stays: that it is there and free is what proves the end.
        descriptors.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_is_free(folder: Path, worker_id: str) -> bool:
    """True only when the lock's file is there and nobody holds it. A missing file proves nothing."""
    try:
        file = os.open(folder / f"{worker_id}.lock", os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(file)
    return True


def holder_is_gone(folder: Path, held: Held) -> bool:
    """Another boot of this machine is gone for certain; another machine is never proven, though it may have this one's name.

    Where nothing tells machines of one name apart, only the lock proves it: another boot may be another machine's.
    """
    if held.host != host_name():
        return False
    here, there = machine_of(boot_id()), machine_of(held.boot_id)
    if here and there and here != there:
        return False
    rebooted = bool(here and there) and held.boot_id != boot_id()
    return rebooted or lock_is_free(folder, held.worker_id)
