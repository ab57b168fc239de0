"""A COMMIT whose answer is lost: what the database holds, by itself and under our operation's id."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from counterfoil.connectors import sql
from counterfoil.store.user_transaction import in_one_transaction
from counterfoil.testing.relay import Relay
from counterfoil.testing.servers.postgres import PostgresServer

INSERT = "INSERT INTO placed (number) VALUES ('seven')"


class Base(DeclarativeBase):
    pass


class Placed(Base):
    __tablename__ = "placed"
    row: Mapped[int] = mapped_column(primary_key=True)
    number: Mapped[str]


class Direct:
    """As much of a run as `sql.transact` asks for: it carries a transaction out at once, under one id."""

    def __init__(self, operation: str) -> None:
        self._operation = operation

    async def transact(self, connect: Any, body: Any) -> Any:
        return in_one_transaction(connect, body, self._operation)


def driven(engine: sqlalchemy.Engine, body: Any, operation: str) -> Any:
    """`sql.transact` to its end; nothing in it waits."""
    run: Any = Direct(operation)
    try:
        sql.transact(run, engine, body).send(None)
    except StopIteration as ended:
        return ended.value
    raise AssertionError("it waited")


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with PostgresServer() as started:
        yield started


@pytest.fixture
def relayed(server: PostgresServer) -> Iterator[tuple[Relay, str]]:
    """A relay, and the database's address behind it: plain text, since the relay reads for COMMIT."""
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS placed; DROP TABLE IF EXISTS counterfoil_receipts")
        connection.execute("CREATE TABLE placed (row SERIAL PRIMARY KEY, number TEXT)")
    relay = Relay(server.port)
    yield relay, server.url.replace(f":{server.port}/", f":{relay.port}/") + "?sslmode=disable"
    relay.close()


def rows(server: PostgresServer) -> int:
    with psycopg.connect(server.url) as connection:
        found = connection.execute("SELECT count(*) FROM placed").fetchone()
    assert found is not None
    return found[0]


def test_without_our_id_a_lost_answer_is_a_second_row(server: PostgresServer, relayed: tuple[Relay, str]) -> None:
    relay, url = relayed
    relay.arm("lose-answer", b"COMMIT")
    with pytest.raises(psycopg.OperationalError), psycopg.connect(url) as connection:
        connection.execute(INSERT)
    assert relay.hit.wait(30) and rows(server) == 1, "it failed, and it is there"
    with psycopg.connect(url) as connection:
        connection.execute(INSERT)
    assert rows(server) == 2


def test_with_our_id_a_lost_answer_is_asked_for(server: PostgresServer, relayed: tuple[Relay, str]) -> None:
    relay, url = relayed
    begun: list[str] = []

    def place(connection: psycopg.Connection[Any]) -> str:
        begun.append("place")
        connection.execute(INSERT)
        return f"placed {len(begun)}"

    relay.arm("lose-answer", b"COMMIT", nth=2)
    with pytest.raises(psycopg.OperationalError):
        in_one_transaction(lambda: psycopg.connect(url), place, "op_1")
    assert relay.hit.wait(30) and rows(server) == 1
    assert in_one_transaction(lambda: psycopg.connect(url), place, "op_1") == "placed 1"
    assert begun == ["place"] and rows(server) == 1


def test_a_session_of_sqlalchemy_is_part_of_the_transaction(server: PostgresServer, relayed: tuple[Relay, str]) -> None:
    relay, url = relayed
    engine = sqlalchemy.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))

    def place(connection: sqlalchemy.Connection) -> int:
        with Session(connection) as session:
            made = Placed(number="seven")
            session.add(made)
            session.flush()
            return made.row

    relay.arm("lose-answer", b"COMMIT", nth=2)
    with pytest.raises(OperationalError):
        driven(engine, place, "op_2")
    assert relay.hit.wait(30) and rows(server) == 1
    assert driven(engine, place, "op_2") == 1, "the row of the first try"
    assert rows(server) == 1
    engine.dispose()


@pytest.mark.parametrize("kind", ["postgresql", "sqlite"])
def test_what_fails_leaves_neither_rows_nor_our_id(
    kind: str, server: PostgresServer, relayed: tuple[Relay, str], tmp_path: Any
) -> None:
    _, url = relayed
    address = (
        url.replace("postgresql://", "postgresql+psycopg://")
        if kind == "postgresql"
        else f"sqlite:///{tmp_path}/shop.db"
    )
    engine = sqlalchemy.create_engine(address)
    Base.metadata.create_all(engine)

    def place(connection: sqlalchemy.Connection, fails: bool = False) -> str:
        connection.execute(sqlalchemy.insert(Placed).values(number="seven"))
        if fails:
            raise LookupError("no such article")
        return "placed"

    def broken(connection: sqlalchemy.Connection) -> str:
        return place(connection, fails=True)

    with pytest.raises(LookupError):
        driven(engine, broken, "op_3")
    counted = sqlalchemy.select(sqlalchemy.func.count()).select_from(Placed)
    with engine.connect() as connection:
        assert connection.scalar(counted) == 0
    for _ in range(2):
        assert driven(engine, place, "op_3") == "placed"
    with engine.connect() as connection:
        assert connection.scalar(counted) == 1
    engine.dispose()
