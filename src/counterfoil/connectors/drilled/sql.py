"""`run.transact` on a PostgreSQL server, through psycopg and through SQLAlchemy: a relay loses the answer to the COMMIT."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import timedelta
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from counterfoil.app.application import App
from counterfoil.connectors import sql
from counterfoil.connectors.drilling import Case, Drill, Play, as_usual
from counterfoil.engine.definitions import Workflow
from counterfoil.engine.port import Run
from counterfoil.model.budget import Budget
from counterfoil.model.errors import Refused
from counterfoil.settings import environment
from counterfoil.testing.children import ChildFailed
from counterfoil.testing.relay import Relay
from counterfoil.testing.servers.postgres import PostgresServer

URL = "DRILLED_POSTGRES_URL"
DIALECT = "sqlalchemy.dialects.postgresql.psycopg"
WITHIN_SECONDS = 30  # for the relay to have dropped a connection that its client has seen dropped
COMMITTED = "before:step.ended"  # the transaction is over, and nothing of that is on record
BUDGET = Budget(attempts=9, elapsed=timedelta(days=30), spend_usd=1, owner="platform-oncall")

for name in ("psycopg", "sqlalchemy"):
    with suppress(ImportError):
        import_module(name)  # once, before the workers of a drill are forked; where it is missing, the drill is not run

app = App("drilled-sql")


def placed() -> Any:
    """The table. It takes a number twice: nothing but the transaction prevents a second row."""
    toolkit: Any = import_module("sqlalchemy")
    return toolkit.Table("placed", toolkit.MetaData(), toolkit.Column("number", toolkit.Text))


def engine_at(url: str) -> Any:
    """For one address; disposed by whoever made it."""
    toolkit: Any = import_module("sqlalchemy")
    return toolkit.create_engine(url.replace("postgresql://", "postgresql+psycopg://"))


@app.workflow(version=1, budget=BUDGET)
async def by_psycopg(run: Run, number: str) -> str:
    """One row, by the driver alone."""
    driver: Any = import_module("psycopg")
    insert = placed().insert().values(number=number).compile(dialect=import_module(DIALECT).dialect())

    def place(connection: Any) -> str:
        connection.execute(str(insert), insert.params)
        return number

    return await run.transact(lambda: driver.connect(environment()[URL]), place)


@app.workflow(version=1, budget=BUDGET)
async def by_sqlalchemy(run: Run, number: str) -> str:
    """One row, through an engine."""
    engine = engine_at(environment()[URL])

    def place(connection: Any) -> str:
        connection.execute(placed().insert().values(number=number))
        return number

    try:
        return await sql.transact(run, engine, place)
    finally:
        engine.dispose()


class Database:
    """The server behind a relay."""

    def __init__(self, folder: Path) -> None:
        del folder
        for package in ("psycopg", "sqlalchemy"):
            if find_spec(package) is None:
                raise Refused(
                    "tool_missing", tool=f"The Python package {package}", install="Install psycopg, SQLAlchemy."
                )
        self._server = PostgresServer()
        self._relay = Relay(self._server.port)
        between = urlsplit(self._server.url)._replace(netloc="").path
        user = self._server.url.partition("@")[0]
        # Plain text, as on one machine anyway: the relay reads for COMMIT.
        self.environ: Mapping[str, str] = {URL: f"{user}@127.0.0.1:{self._relay.port}{between}?sslmode=disable"}
        self._engine = engine_at(self._server.url)
        placed().create(self._engine)

    def prepare(self, number: str) -> str:
        """Nothing but the number."""
        self._relay.arm("none", b"")
        return number

    def records(self, payload: str) -> int:
        """The rows of its number."""
        toolkit, table = import_module("sqlalchemy"), placed()
        counted: Any = toolkit.select(toolkit.func.count()).select_from(table).where(table.c.number == payload)
        with self._engine.connect() as connection:
            return connection.scalar(counted)

    def lose_commit(self) -> None:
        """The COMMIT arrives, and its answer is lost with the connection. The first one is that of our table."""
        self._relay.arm("lose-answer", b"COMMIT", nth=2)

    @property
    def lost(self) -> bool:
        """Whether that has come to pass."""
        return self._relay.hit.wait(WITHIN_SECONDS)

    def close(self) -> None:
        """End both."""
        self._engine.dispose()
        self._relay.close()
        self._server.close()


async def commit_lost(play: Play) -> None:
    """The database has committed, and its answer never arrives: the connection is gone."""
    play.server.lose_commit()
    await play.drive()
    if not play.server.lost:
        raise ChildFailed("No answer to a COMMIT was lost.")


async def killed_after_commit(play: Play) -> None:
    """The database has committed, and the worker dies before anything of that is on record. Another one goes on."""
    await play.drive(crash_at=COMMITTED)
    await play.drive()


def _drill(way: str, workflow: Workflow[Any, Any]) -> Drill:
    return Drill(
        connector="sql.transact",
        entries=[sql.ENTRY],
        app=app,
        workflow=workflow,
        server=f"PostgreSQL, through {way}",
        server_kind="real",
        start=Database,
        cases=[
            Case("as-usual", "succeeded", as_usual),
            Case("commit-lost", "succeeded", commit_lost),
            Case("killed-after-commit", "succeeded", killed_after_commit),
        ],
    )


DRILLS = [_drill("psycopg", by_psycopg), _drill("SQLAlchemy", by_sqlalchemy)]
