"""Finding and running the cases. Needs no test runner, so that a user can run it against a database of theirs."""

from collections.abc import Callable
from dataclasses import dataclass
from inspect import getmembers, isfunction
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from counterfoil.testing.conformance import batches, handles, journal, lists, marks, reading, refusals, rows, seen
from counterfoil.testing.conformance.bench import Bench, MakeDatabase

AREAS: dict[str, ModuleType] = {
    "rows": rows,
    "batches": batches,
    "refusals": refusals,
    "journal": journal,
    "reading": reading,
    "lists": lists,
    "seen": seen,
    "marks": marks,
    "handles": handles,
}


@dataclass(frozen=True, slots=True)
class Case:
    """One thing a backend must do. `name` is unique in its area, `says` one sentence."""

    area: str
    name: str
    says: str
    body: Callable[[Bench], None]

    def run(self, make: MakeDatabase, location: Path) -> None:
        """Run it over an empty location. Raises what it found wrong."""
        bench = Bench(make, location)
        try:
            self.body(bench)
        finally:
            bench.close()


@dataclass(frozen=True, slots=True)
class AreaCount:
    """How many cases an area has, and how many passed."""

    collected: int
    passed: int


@dataclass(frozen=True, slots=True)
class ConformanceReport:
    """`failures` names each failed case with what it said. Nothing is ever skipped: a backend does all or is none."""

    collected: int
    passed: int
    failed: int
    skipped: int
    by_area: dict[str, AreaCount]
    failures: dict[str, str]


def cases() -> list[Case]:
    """All cases, in a fixed order."""
    return [
        Case(area, name, (body.__doc__ or "").strip(), body)
        for area, module in AREAS.items()
        for name, body in getmembers(module, isfunction)
        if body.__module__ == module.__name__ and not name.startswith("_")
    ]


def run_conformance(make: MakeDatabase) -> ConformanceReport:
    """Run all cases, each over a new empty location."""
    failures: dict[str, str] = {}
    collected = cases()
    for case in collected:
        with TemporaryDirectory(prefix="conformance-") as folder:
            try:
                case.run(make, Path(folder))
            except Exception as problem:
                failures[f"{case.area}.{case.name}"] = f"{type(problem).__name__}: {problem}"
    by_area = {
        area: AreaCount(
            sum(case.area == area for case in collected),
            sum(case.area == area and f"{case.area}.{case.name}" not in failures for case in collected),
        )
        for area in AREAS
    }
    return ConformanceReport(
        collected=len(collected),
        passed=len(collected) - len(failures),
        failed=len(failures),
        skipped=0,
        by_area=by_area,
        failures=failures,
    )
