"""The user's writes and our operation id in one transaction of the user's own database."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from counterfoil.model.errors import Refused

RECEIPTS = "counterfoil_receipts"


def in_one_transaction(connect: Callable[[], Any], body: Callable[[Any], Any], operation_id: str) -> Any:
    """Run `body(connection)` once for an operation id. Gives its JSON result; a second call gives the first one's.

    `connect` opens a DB-API connection (sqlite3, psycopg) that begins a transaction by itself or autocommits nothing.
    """
    connection = connect()
    try:
        _receipts_table(connection)
        mark = _mark(connection)
        cursor = connection.cursor()
        _begin(connection, cursor)
        # Inserting the id is the only proof of absence: whoever is first holds the row until its COMMIT.
        cursor.execute(_INSERT.format(mark=mark), (operation_id,))
        cursor.execute(_SELECT.format(mark=mark), (operation_id,))
        (kept,) = cursor.fetchone()
        if kept is not None:
            connection.rollback()
            return json.loads(kept)
        result = body(connection)
        try:
            text = json.dumps(result)
        except (TypeError, ValueError) as problem:
            raise Refused("unserializable", where="the result of transact", problem=str(problem)) from problem
        connection.cursor().execute(_UPDATE.format(mark=mark), (text, operation_id))
        connection.commit()
        return json.loads(text)
    except BaseException:
        with suppress(Exception):
            connection.rollback()
        raise
    finally:
        connection.close()


def _receipts_table(connection: Any) -> None:
    connection.cursor().execute(_TABLE)
    connection.commit()


def _begin(connection: Any, cursor: Any) -> None:
    if type(connection).__module__.startswith("sqlite3") and not connection.in_transaction:
        cursor.execute("BEGIN IMMEDIATE")  # two writers queue here instead of failing at their first write


def _mark(connection: Any) -> str:
    """sqlite3 marks a parameter with ?, psycopg and its kin with %s."""
    return "?" if type(connection).__module__.startswith("sqlite3") else "%s"


# These run in the user's database, through the user's driver; ours is never spoken to here.
_TABLE = f"create table if not exists {RECEIPTS} (operation_id text primary key, result text)"
_INSERT = f"insert into {RECEIPTS} (operation_id) values ({{mark}}) on conflict do nothing"
_SELECT = f"select result from {RECEIPTS} where operation_id = {{mark}}"
_UPDATE = f"update {RECEIPTS} set result = {{mark}} where operation_id = {{mark}}"
