"""`counterfoil drill --mutate`: is every protection missed by some drill when it is taken away?"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from counterfoil.cli.command import Answer
from counterfoil.cli.drill_pages import DrillProgress

if TYPE_CHECKING:
    from counterfoil.cli.drill import Wanted
    from counterfoil.cli.invocation import Invocation
    from counterfoil.drills.target import Target

OPTION, ALL = "--mutate", "all"
UNCAUGHT = 1


def spelled(argv: Sequence[str]) -> list[str]:
    """`drill TARGET --mutate` without a guard means all of them: Typer knows no option whose value may be left out."""
    given = list(argv)
    for n in [n for n, word in enumerate(given) if word == OPTION and given[0] == "drill"]:
        if n + 1 == len(given) or given[n + 1].startswith("-"):
            given[n] = f"{OPTION}={ALL}"
    return given


def mutated(invocation: "Invocation", target: "Target", guard: str, asked: "Wanted") -> Answer:
    """The report with the guards in it, and the cases that noticed, as they pass with the guard on."""
    from counterfoil.drills.mutation import guards_named, mutate
    from counterfoil.drills.report import report_of
    from counterfoil.engine.clock import SystemClock

    names = guards_named(None if guard == ALL else guard)
    clock = SystemClock()
    began = clock.boot_us()
    with DrillProgress(invocation.streams.notes()) as progress:
        found = mutate(
            target,
            names,
            players=asked.players,
            seed=asked.seed,
            only=asked.only,
            receivers=asked.receivers,
            watching=progress,
        )
    seconds = (clock.boot_us() - began) / 1_000_000
    report = report_of(target, found.learned, found.cases, seconds, found.counted) | {"guards": found.guards}
    return Answer(report, UNCAUGHT if found.uncaught else 0)
