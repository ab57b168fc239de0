"""`counterfoil simulate`: the engine in a simulated world, from a seed."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import LARGEST, Answer, Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import heading, plain, sentence, table
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.testing.simulate import Report

FOUND = 1
SHAPE = (
    "{seed, schedules, schedules_per_s, trace_digest, faults:{name:count}, cases_hit:[letter], cases_missed:[letter], "
    "cases_excused:{letter:reason}, residue:{name:count}, runs, simulated_seconds, unaccounted_runs, "
    "violations:[{checker, what, seed, on:[name], story:[line]}], repeat}"
)
STORY = 40  # lines of a story in the terminal; --json has all of them
EVERY_S = 10.0  # how often progress is told


def simulated(console: "Console", data: Any) -> None:
    """What was played, and what was found with the command that repeats it."""
    sentence(console, f"{data['schedules']} schedules from seed {data['seed']}, {data['schedules_per_s']} a second")
    sentence(console, f"{data['runs']} runs in {data['simulated_seconds']} simulated seconds, {data['trace_digest']}")
    table(console, ("disturbance", "times"), list(data["faults"].items()), empty="")
    sentence(console, f"cases: {' '.join(data['cases_hit'])}; missed: {' '.join(data['cases_missed']) or 'none'}")
    if data["residue"]:
        heading(console, "left, by name")
        table(console, ("what", "times"), list(data["residue"].items()), empty="")
    if not data["violations"]:
        sentence(console, "No violation.")
        return
    heading(console, "violations")
    table(console, ("checker", "what"), [(v["checker"], v["what"]) for v in data["violations"]], empty="")
    for line in data["violations"][0]["story"][-STORY:]:
        console.print(plain(line))
    sentence(console, f"repeat: {data['repeat']}")


def add_to(top: Group) -> None:
    """Add the command."""

    @top.command("simulate", data=SHAPE, shows=simulated, also=(FOUND,))
    def simulate(
        invocation: Invocation,
        seed: Annotated[int, typer.Option(min=0, max=LARGEST, help="The first schedule's; the next has one more.")],
        runs: Annotated[
            int | None, typer.Option(min=1, help="So many drawn schedules; else the focused ones and 40.")
        ] = None,
        seconds: Annotated[float | None, typer.Option(min=1, help="Schedules for so long instead.")] = None,
        off: Annotated[list[str] | None, typer.Option(metavar="NAME", help="A disturbance to leave out.")] = None,
    ) -> Any:
        """Play the engine in a simulated world: processes that die, disks that fail, receivers that do not answer, all from one seed."""
        from counterfoil.testing.simulate import SWITCHES
        from counterfoil.testing.simulate import simulate as play_all

        left_out = frozenset(off or ())
        unknown = sorted(left_out - SWITCHES.keys())
        if unknown:
            raise Refused(
                "usage", problem=f"there is no disturbance {unknown[0]}; there are {', '.join(sorted(SWITCHES))}"
            )
        if runs is not None and seconds is not None:
            raise Refused("usage", problem="name --runs or --seconds, not both")
        told = _Telling(invocation)
        report = play_all(seed, runs=runs, seconds=seconds, off=left_out, told=told.hear)
        return Answer(report.as_json(), FOUND if report.violations else 0)


class _Telling:
    """Progress on stderr, now and then."""

    def __init__(self, invocation: Invocation) -> None:
        self._notes = invocation.streams.notes()
        self._next = EVERY_S

    def hear(self, report: "Report") -> None:
        """Called after each schedule."""
        if report.seconds >= self._next:
            self._next = report.seconds + EVERY_S
            pace = report.schedules / report.seconds
            self._notes.print(plain(f"{report.schedules} schedules, {pace:.2f} a second, {len(report.cases)} cases"))
