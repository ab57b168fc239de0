"""Named SQL from the files beside this module. A dialect's own file holds only what differs, and says why."""

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- name: (?P<name>\w+)$")
_WHY = "-- differs because: "
_ONLY = "-- only here because: "


@dataclass(frozen=True, slots=True)
class Query:
    """`purpose` is the comment line that says what it is for, `differs` why a dialect has its own, `only` why no other has it."""

    name: str
    purpose: str
    sql: str
    differs: str | None = None
    only: str | None = None


class QueryFileError(Exception):
    """A file of named queries is not well formed. A defect of this package, found by its tests."""


def parse(text: str, *, dialect: bool = False) -> dict[str, Query]:
    """The queries of one file. Raises QueryFileError for one without a purpose, twice, or differing without a reason."""
    found: dict[str, Query] = {}
    for block in re.split(r"^(?=-- name: )", text, flags=re.MULTILINE):
        lines = block.strip().splitlines()
        match = _NAME.match(lines[0]) if lines else None
        if match is None:
            if any(line and not line.startswith("--") for line in lines):
                raise QueryFileError(f"SQL without a name: {lines[0]}")
            continue
        query = _query(match["name"], lines[1:])
        if query.name in found:
            raise QueryFileError(f"{query.name} stands twice")
        if dialect and query.differs is None and query.only is None:
            raise QueryFileError(f"{query.name} does not say why it differs")
        found[query.name] = query
    return found


def _query(name: str, lines: list[str]) -> Query:
    comments = [line for line in lines if line.startswith("--")]
    sql = "\n".join(line for line in lines if not line.startswith("--")).strip()
    differs = [line.removeprefix(_WHY) for line in comments if line.startswith(_WHY)]
    only = [line.removeprefix(_ONLY) for line in comments if line.startswith(_ONLY)]
    purposes = [line.removeprefix("--").strip() for line in comments if not line.startswith((_WHY, _ONLY))]
    if not purposes or not sql:
        raise QueryFileError(f"{name} has no purpose or no SQL")
    return Query(name, purposes[0], sql.rstrip(";"), *(found[0] if found else None for found in (differs, only)))


@cache
def queries(dialect: str = "sqlite") -> dict[str, Query]:
    """All named queries as this dialect runs them."""
    folder = files("counterfoil.store") / "sql"
    found: dict[str, Query] = {}
    for file in sorted(folder.iterdir(), key=lambda item: item.name):
        if file.name.endswith(".sql") and file.name != "schema.sql":
            for name, query in parse(file.read_text("utf-8")).items():
                if name in found:
                    raise QueryFileError(f"{name} stands in two files")
                found[name] = query
    own = folder / dialect
    if own.is_dir():
        for file in sorted(own.iterdir(), key=lambda item: item.name):
            if not file.name.endswith(".sql") or file.name == "schema.sql":
                continue
            different = parse(file.read_text("utf-8"), dialect=True)
            new = {name for name, query in different.items() if query.only is not None}
            if unknown := different.keys() - found.keys() - new:
                raise QueryFileError(f"{dialect} overrides {sorted(unknown)}, which nobody defines")
            if known := new & found.keys():
                raise QueryFileError(f"{sorted(known)} are not only in {dialect}")
            found |= different
    return found


def sql(name: str, dialect: str = "sqlite") -> str:
    """The text of one named query."""
    return queries(dialect)[name].sql
