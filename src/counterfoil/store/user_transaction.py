"""The user's writes and our operation id in one transaction of the user's own database."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from counterfoil.model.errors import Refused
from counterfoil.store.queries import sql


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
        cursor.execute(_asked("user_receipt_claim", mark), (operation_id,))
        cursor.execute(_asked("user_receipt", mark), (operation_id,))
        (kept,) = cursor.fetchone()
        if kept is not None:
            connection.rollback()
            return json.loads(kept)
        result = body(connection)
        try:
            text = json.dumps(result)
        except (TypeError, ValueError) as problem:
            raise Refused("unserializable", where="the result of transact", problem=str(problem)) from problem
        connection.cursor().execute(_asked("user_receipt_result", mark), (text, operation_id))
        connection.commit()
        return json.loads(text)
    except BaseException:
        with suppress(Exception):
            connection.rollback()
        raise
    finally:
        connection.close()


def _receipts_table(connection: Any) -> None:
    connection.cursor().execute(sql("user_receipts_table"))
    connection.commit()


def _begin(connection: Any, cursor: Any) -> None:
    if _is_sqlite(connection) and not _driver(connection).in_transaction:
        cursor.execute("BEGIN IMMEDIATE")  # two writers queue here instead of failing at their first write


def _mark(connection: Any) -> str:
    """sqlite3 marks a parameter with ?, psycopg and its kin with %s."""
    return "?" if _is_sqlite(connection) else "%s"


def _is_sqlite(connection: Any) -> bool:
    return type(_driver(connection)).__module__.startswith("sqlite3")


def _driver(connection: Any) -> Any:
    """What a pool or a toolkit has wrapped says what is beneath."""
    return getattr(connection, "driver_connection", connection)


def _asked(name: str, mark: str) -> str:
    return sql(name).replace("?", mark)
