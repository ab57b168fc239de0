"""The schema's versions. Each migration is a file `NNNN_name.sql`; the database holds the number of the last one."""

from dataclasses import dataclass
from functools import cache
from importlib.resources import files

APPLICATION_ID = 0x43464C44  # "CFLD", in the header of every database of ours


@dataclass(frozen=True, slots=True)
class Migration:
    """One step of the schema. `number` is what `user_version` holds afterwards."""

    number: int
    name: str
    sql: str


@cache
def migrations() -> tuple[Migration, ...]:
    """All steps, in order and without a gap."""
    folder = files("counterfoil.store") / "sql" / "migrations"
    steps = tuple(
        Migration(int(file.name[:4]), file.name[5:].removesuffix(".sql"), file.read_text("utf-8"))
        for file in sorted(folder.iterdir(), key=lambda item: item.name)
        if file.name.endswith(".sql")
    )
    assert [step.number for step in steps] == list(range(1, len(steps) + 1)), "a migration is missing"
    return steps


def newest() -> int:
    """The schema version that this code knows."""
    return migrations()[-1].number


@cache
def schema() -> str:
    """The schema as it must be after all migrations."""
    return (files("counterfoil.store") / "sql" / "schema.sql").read_text("utf-8")
