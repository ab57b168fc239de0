"""Writing a file so that after any crash it is the old one or the new one, and the new one once this returned."""

import errno
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from threading import get_ident
from typing import BinaryIO

from counterfoil.store.port import StorageError


@contextmanager
def failures_of(what: str) -> Generator[None, None, None]:
    """Turns what the file system refuses into StorageError: disk_full or storage_failed."""
    try:
        yield
    except OSError as problem:
        full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
        raise StorageError("disk_full" if full else "storage_failed", problem=f"{what}: {problem}") from problem


def replace_file(path: Path, content: bytes) -> None:
    """The whole file, new or instead of the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # The process id keeps two processes from writing one temporary file.
    # Two threads may bring the same bytes at once: neither moves the other's file away.
    temporary = path.with_name(f"{path.name}.{os.getpid()}.{get_ident()}.new")
    with temporary.open("wb") as file:
        _write(file.fileno(), content)
    temporary.replace(path)
    flush_folder(path.parent)


def append_line(path: Path, line: bytes) -> None:
    """One more line at the end. A crash may leave a part of it; the next line does not run into that."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("ab+") as file:
        if file.tell() and not _ends_a_line(file):
            line = b"\n" + line
        _write(file.fileno(), line)  # past the buffer: one write call, so that lines of two processes do not mix
    if new:
        flush_folder(path.parent)


def _ends_a_line(file: BinaryIO) -> bool:
    file.seek(-1, os.SEEK_END)
    return file.read(1) == b"\n"


def flush_folder(folder: Path) -> None:
    """A name in a folder survives a power cut only once the folder itself was flushed."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write(descriptor: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.fsync(descriptor)
