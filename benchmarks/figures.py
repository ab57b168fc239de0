"""What a run of the benchmarks gives: rows, and ratios between them."""

import sqlite3
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from statistics import median

import apsw

OURS, FLOOR, PLAIN_AGENT = "counterfoil", "plain_loop", "pydantic_ai"


@dataclass(frozen=True, slots=True)
class PerStep:
    """What one durable step costs the database, counted and not timed. `bytes` is what stays on disk."""

    statements: float
    commits: float
    flushes: float
    bytes: float


@dataclass(frozen=True, slots=True)
class Row:
    """One figure of one system. `median`, `min`, `max` over the rounds; the costs per step are counted elsewhere."""

    suite: str
    system: str
    version: str
    backend: str
    durability: str
    concurrency: int
    metric: str
    unit: str
    median: float
    min: float
    max: float
    commits_per_step: float | None = None
    flushes_per_step: float | None = None
    statements_per_step: float | None = None
    bytes_per_step: float | None = None


@dataclass(frozen=True, slots=True)
class Ratio:
    """A figure with what it must reach. A name that ends in `_at_most` has an upper bound."""

    name: str
    value: float
    target: float

    @property
    def met(self) -> bool:
        return self.value <= self.target if self.name.endswith("_at_most") else self.value >= self.target


@dataclass(frozen=True, slots=True)
class Suite:
    """What one suite found."""

    rows: list[Row]
    ratios: list[Ratio]


def row(
    suite: str,
    metric: str,
    unit: str,
    values: Sequence[float],
    *,
    concurrency: int = 1,
    system: str = OURS,
    cost: PerStep | None = None,
) -> Row:
    """A row over the values of all rounds."""
    if system == PLAIN_AGENT:
        known = version("pydantic-ai-slim")
        return Row(
            suite, system, known, "none", "none", concurrency, metric, unit, median(values), min(values), max(values)
        )
    made = _own_version() if system == OURS else sqlite3.sqlite_version
    library = apsw.sqlite_lib_version() if system == OURS else sqlite3.sqlite_version
    costs = (cost.commits, cost.flushes, cost.statements, cost.bytes) if cost else (None,) * 4
    return Row(
        suite, system, made, f"sqlite {library}", "wal, synchronous=FULL", concurrency, metric, unit,
        median(values), min(values), max(values), *costs,
    )  # fmt: skip


def alternating(rounds: int, *measures: Callable[[int], float]) -> list[list[float]]:
    """Each measure once a round, in an order that turns round every time. Gives the values of each measure."""
    values: list[list[float]] = [[] for _ in measures]
    for number in range(rounds):
        places = range(len(measures)) if number % 2 == 0 else reversed(range(len(measures)))
        for place in places:
            values[place].append(measures[place](number))
    return values


def between(ours: Sequence[float], floor: Sequence[float]) -> float:
    """The median of the ratios of single rounds: what else the machine did meanwhile stands on both sides."""
    return median(mine / theirs for mine, theirs in zip(ours, floor, strict=True))


def _own_version() -> str:
    """Of the working tree that is measured, installed or not."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    return str(project["version"])
