"""Hold a name for as long as a block is open: nobody else, in any process, holds it meanwhile.

No time is involved: the system, or the server, frees the name when whoever holds it is gone.
"""

import fcntl
import os
from collections.abc import Generator
from contextlib import contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path

from counterfoil.app.located import Located, OnServer
from counterfoil.engine import descriptors
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused


@contextmanager
def holding(opened: Opened, where: Located, name: str) -> Generator[None]:
    """On SQLite by a file lock beside the database, on PostgreSQL by the server. Raises Refused(held_elsewhere)."""
    digest = sha256(f"{opened.installation_id} {name}".encode()).hexdigest()
    with _on_host(opened.locks / "held", digest, name), _on_server(where, int(digest[:15], 16), name):
        yield


@contextmanager
def _on_host(folder: Path, digest: str, name: str) -> Generator[None]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / digest
    file = _locked(path)
    if file is None:
        raise Refused("held_elsewhere", name=name)
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()  # still under the lock: names come and go, and nobody proves anything by their files
        descriptors.close(file)


def _locked(path: Path) -> int | None:
    """The lock's file, None where somebody holds it. A file that its holder has just removed is no lock: it is made anew."""
    while True:
        file = descriptors.only_here(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            descriptors.close(file)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        descriptors.close(file)


@contextmanager
def _on_server(where: Located, key: int, name: str) -> Generator[None]:
    with nullcontext(True) if not isinstance(where, OnServer) else where.held(key) as held:
        if not held:
            raise Refused("held_elsewhere", name=name)
        yield
