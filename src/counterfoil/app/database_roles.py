"""Two roles for one ledger on a server: who drives runs writes no answer."""

from typing import Any

from counterfoil.app.located import InFile, OnServer
from counterfoil.model.errors import Refused


def database_roles(where: InFile | OnServer, worker: str, console: str, *, apply: bool) -> dict[str, Any]:
    """`{schema, worker, console, statements, applied}`. Raises Refused(usage, no_database), StorageError."""
    if isinstance(where, InFile):
        raise Refused("usage", problem="A file has no roles: whoever may write it may write all of it. Use PostgreSQL")
    for name in (worker, console):
        if not name.strip() or not name.isprintable():
            raise Refused("usage", problem=f"{name!r} is no name of a role")
    if worker == console:
        raise Refused("usage", problem="the worker and the console need a role each")
    from counterfoil.store.postgres_roles import roles

    schema, statements = roles(where.address, worker, console, apply=apply)
    return {"schema": schema, "worker": worker, "console": console, "statements": statements, "applied": apply}
