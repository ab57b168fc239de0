"""The user's writes and our id in one transaction: once for an id, whoever asks again and however often."""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest

from counterfoil.model.errors import Refused
from counterfoil.store.user_transaction import in_one_transaction

Connect = Callable[[], sqlite3.Connection]


@pytest.fixture
def connect(tmp_path: Path) -> Connect:
    """Opens the user's database, which has one table of orders."""
    path = tmp_path / "users.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE orders (number TEXT)")
    connection.close()
    return lambda: sqlite3.connect(path, timeout=30)


def order(number: str, result: Any = None) -> Callable[[sqlite3.Connection], Any]:
    def body(connection: sqlite3.Connection) -> Any:
        connection.execute("INSERT INTO orders VALUES (?)", (number,))
        return {"number": number} if result is None else result

    return body


def orders(connect: Connect) -> list[str]:
    connection = connect()
    found = [number for (number,) in connection.execute("SELECT number FROM orders ORDER BY rowid")]
    connection.close()
    return found


def test_a_second_call_after_a_crash_gives_the_first_ones_result(connect: Connect) -> None:
    # The process died between the user's COMMIT and ours: the next one asks again, with whatever it would write now.
    assert in_one_transaction(connect, order("1"), "op_a") == {"number": "1"}
    assert in_one_transaction(connect, order("2"), "op_a") == {"number": "1"}
    assert orders(connect) == ["1"]
    assert in_one_transaction(connect, order("3"), "op_b") == {"number": "3"}
    assert orders(connect) == ["1", "3"]


def test_a_body_that_fails_leaves_nothing_and_may_be_tried_again(connect: Connect) -> None:
    def fails(connection: sqlite3.Connection) -> None:
        order("1")(connection)
        raise OSError("not now")

    with pytest.raises(OSError, match="not now"):
        in_one_transaction(connect, fails, "op_a")
    assert orders(connect) == []
    assert in_one_transaction(connect, order("1"), "op_a") == {"number": "1"}
    assert orders(connect) == ["1"]


def test_a_result_that_is_no_json_leaves_nothing(connect: Connect) -> None:
    with pytest.raises(Refused) as refused:
        in_one_transaction(connect, order("1", result=object()), "op_a")
    assert refused.value.code == "unserializable"
    assert orders(connect) == []


def test_two_that_ask_at_once_write_once(connect: Connect) -> None:
    both = Barrier(2)

    def ask(number: str) -> Any:
        both.wait(10)
        return in_one_transaction(connect, order(number), "op_a")

    in_one_transaction(connect, order("0"), "op_first")  # the receipts table is there
    with ThreadPoolExecutor(2) as pool:
        first, second = pool.map(ask, ("1", "2"))
    assert first == second
    assert orders(connect) == ["0", first["number"]]
