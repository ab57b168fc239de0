"""One file lock per process, in the database's folder: a lock that is free proves that its holder is gone from this host."""

import fcntl
import os
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from counterfoil.engine import descriptors
from counterfoil.engine.clock import boot_id, host_name, machine_of, same_kernel
from counterfoil.store.patience import Patience
from counterfoil.store.port import StorageError


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


_patience = Patience("the folder of process locks", 2.0)


def lock_is_free(folder: Path, worker_id: str) -> bool:
    """True only when the lock's file is there and nobody holds it. A missing file proves nothing, nor does a folder that hangs."""
    try:
        return _patience.ask(lambda: _is_free(folder, worker_id))
    except StorageError:
        return False


def _is_free(folder: Path, worker_id: str) -> bool:
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
    """Only by its lock, which is in this folder and free: nothing else cannot also be so on another node, where it lives.

    Who gives the lock is the kernel. So it speaks for a process of this boot; of another boot only where that was this very
    machine's, whose processes have ended with it. A folder may have been attached to another node while its sender lives.
    """
    here = boot_id()
    if held.host != host_name():
        return False
    started_again = machine_of(here) != "" and machine_of(here) == machine_of(held.boot_id)
    return (started_again or same_kernel(here, held.boot_id)) and lock_is_free(folder, held.worker_id)
