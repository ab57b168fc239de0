"""The schema's versions. Each migration is a file `NNNN_name.sql`; the database holds the number of the last one."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

APPLICATION_ID = 0x43464C44  # "CFLD", in the header of every database of ours
POSTGRES_FROM = 13  # the first schema that a release had on PostgreSQL: each later migration has a twin there


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. `number` is what `user_version` holds afterwards."""

    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps of SQLite's schema, in order and without a gap."""
    steps = _steps(files("counterfoil.store") / "sql" / "migrations")
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), "a migration is missing"
    return steps


@cache
def postgres_migrations() -> tuple[Migration, ...]:
    """The steps of PostgreSQL's schema, which begins with the one that its first release had."""
    folder = files("counterfoil.store") / "sql" / "postgres" / "migrations"
    steps = _steps(folder) if folder.is_dir() else ()
    assert [step.number for step in steps] == list(range(POSTGRES_FROM + 1, newest() + 1)), "a migration is missing"
    return steps


def _steps(folder: Traversable) -> tuple[Migration, ...]:
    return tuple(
        Migration(int(file.name[:4]), file.name[5:].removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda item: item.name)
        if file.name.endswith(".sql")
    )


def newest() -> int:
    """The schema version that this code knows."""
    return migrations()[-1].number


@cache
def schema(dialect: str = "sqlite") -> str:
    """The schema as it must be after all migrations."""
    folder = files("counterfoil.store") / "sql"
    return ((folder if dialect == "sqlite" else folder / dialect) / "schema.sql").read_text("utf-8")
