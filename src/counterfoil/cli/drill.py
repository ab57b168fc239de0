"""`counterfoil drill`: break the user's own workflow at every boundary, and count what its receiver holds."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Answer, Group
from counterfoil.cli.invocation import Invocation

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.drills.target import Target

FOUND = 1
SHAPE = (
    "{target, target_digest, versions, boundaries:[boundary], cases:[CASE], "
    "summary:{cases, passed, failed, not_applicable, not_run, seconds}, guards:[{guard, caught_by:[case_id]}], registered}"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for."""

    listed: bool
    only: str | None
    players: int
    seed: int


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("drill", data=SHAPE, shows=shown, also=(FOUND,))
    def drill(
        invocation: Invocation,
        target: Annotated[
            str, typer.Argument(metavar="TARGET", help="MODULE:WORKFLOW, a workflow, or a project folder.")
        ],
        listed: Annotated[
            bool, typer.Option("--list", help="Name the cases, and play none but the clean run.")
        ] = False,
        only: Annotated[str | None, typer.Option(metavar="GLOB", help="Cases whose id or name fits.")] = None,
        players: Annotated[
            int, typer.Option("--jobs", min=1, max=64, metavar="N", help="How many are played at once.")
        ] = 2,
        seed: Annotated[int, typer.Option(min=0, max=2**31, metavar="N", help="For inputs that are derived.")] = 0,
    ) -> Any:
        """Kill, freeze and mislead your own workflow at every boundary, recover it, and judge by what its receiver holds."""
        from counterfoil.cli.targets import target_of
        from counterfoil.drills.target import Target

        app, name = target_of(invocation, target)
        typed = (target,) if invocation.target is None else (target, "--app", invocation.target)
        found = Target.of(app, name, text=target, typed=typed, seed=seed)
        for each in found.left_out:
            invocation.warn("drill_left_out", f"{each} has no scenario, and others have: it is not drilled.")
        return _drilled(invocation, found, Wanted(listed, only, players, seed))


def _drilled(invocation: Invocation, target: "Target", asked: Wanted) -> Answer:
    from counterfoil.drills.plan import planned_of, wanted
    from counterfoil.drills.report import listed, report_of
    from counterfoil.drills.running import Ensemble
    from counterfoil.engine.clock import SystemClock

    clock = SystemClock()
    began = clock.boot_us()
    with Ensemble(target, players=asked.players, seed=asked.seed) as ensemble:
        learned = ensemble.learn()
        cases = wanted(planned_of(learned), asked.only)
        if asked.listed:
            played = listed(cases, target, asked.seed)
        else:
            played = ensemble.play(cases, learned)
    report = report_of(target, learned, played, (clock.boot_us() - began) / 1_000_000)
    return Answer(report, FOUND if report["summary"]["failed"] else 0)


def shown(console: "Console", data: Any) -> None:
    """The failures with their reasons, then the sums."""
    from counterfoil.cli.tables import sentence

    for case in data["cases"]:
        if case["verdict"] == "fail":
            sentence(console, f"FAIL {case['case_id']}: {'; '.join(case['reasons'])}")
            sentence(console, f"     {case['repeat']}")
    summary = data["summary"]
    sentence(console, ", ".join(f"{summary[name]} {name.replace('_', ' ')}" for name in summary if name != "seconds"))
    sentence(console, f"{summary['seconds']:.1f} s")
