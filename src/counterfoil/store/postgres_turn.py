"""Whose turn it is: the batches of one ledger follow one another by one lock, which ends with its transaction."""

from contextlib import suppress
from hashlib import sha256
from typing import Any

from psycopg import errors

from counterfoil.store.postgres_connection import Connection, Cursor, asked, quoted

STATEMENT_SECONDS = 60.0


def key_of(schema: str) -> int:
    """The advisory lock of one ledger in its database. Two that met by chance would only wait for each other."""
    return int.from_bytes(sha256(b"counterfoil batches of " + schema.encode()).digest()[:8], "big", signed=True)


class Turn:
    """Begins the transaction of a batch: its limits and the lock.

    `busy_seconds`: how long it is waited for. `frozen_seconds`: how long a holder may be silent before the server ends it; less
    than `busy_seconds`, so that the others go on before they give up.
    """

    def __init__(self, schema: str, busy_seconds: float, frozen_seconds: float) -> None:
        self._given: dict[str, Any] = {
            "path": quoted(schema),
            "wait": _milliseconds(busy_seconds),
            "frozen": _milliseconds(frozen_seconds),
            "statement": _milliseconds(max(STATEMENT_SECONDS, 2 * busy_seconds)),
            "key": key_of(schema),
        }

    def ask(self, connection: Connection) -> Cursor:
        """Queue it in a pipeline. What is asked behind it sees the newest commit. Gives the answer to `standing`."""
        connection.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        asked(connection, "take_turn", self._given)
        return asked(connection, "standing")

    def end_silent_holder(self, connection: Connection) -> tuple[bool, list[str]]:
        """Whether a holder of the lock that stands still was ended; else who holds it. Raises psycopg.Error."""
        parts = parts_of(self._given["key"])
        with suppress(errors.InsufficientPrivilege):  # of another role: then it is named
            if asked(connection, "end_silent_holder", parts | {"least": self._given["frozen"]}).fetchall():
                return True, []
        return False, holders(connection, parts)


def parts_of(key: int) -> dict[str, Any]:
    """The two halves under which the server shows a lock's key."""
    return {"high": key >> 32 & 0xFFFFFFFF, "low": key & 0xFFFFFFFF}


def holders(connection: Connection, parts: dict[str, Any]) -> list[str]:
    """Who holds the lock, by their clients' own names."""
    return [f"{who} (server process {pid})" for pid, who in asked(connection, "turn_holders", parts)]


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1000))}ms"
