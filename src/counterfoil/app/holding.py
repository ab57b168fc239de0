"""Hold a name for as long as a block is open: nobody else, in any process, holds it meanwhile.

No time is involved: the system, or the server, frees the name when whoever holds it is gone.
"""

from collections.abc import Generator
from contextlib import contextmanager, nullcontext
from hashlib import sha256

from counterfoil.app.located import Located, OnServer
from counterfoil.engine.locks import ProcessLock
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused


@contextmanager
def holding(opened: Opened, where: Located, name: str) -> Generator[None]:
    """On SQLite by a file lock beside the database, on PostgreSQL by the server. Raises Refused(held_elsewhere)."""
    digest = sha256(f"{opened.installation_id} {name}".encode()).hexdigest()
    try:
        lock = ProcessLock(opened.locks / "held", digest)
    except OSError as problem:
        raise Refused("held_elsewhere", name=name) from problem
    with lock, _on_server(where, int(digest[:15], 16), name):
        yield


@contextmanager
def _on_server(where: Located, key: int, name: str) -> Generator[None]:
    with nullcontext(True) if not isinstance(where, OnServer) else where.held(key) as held:
        if not held:
            raise Refused("held_elsewhere", name=name)
        yield
