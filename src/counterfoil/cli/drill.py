"""`counterfoil drill`: break the user's own workflow at every boundary, and count what its receiver holds."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import drill_pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group
from counterfoil.cli.drill_files import check_writable, written
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.terminated import as_interrupted
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from counterfoil.app import App
    from counterfoil.app.located import InFile, OnServer
    from counterfoil.drills.case import Planned
    from counterfoil.drills.learning import Learned
    from counterfoil.drills.outside import Receivers
    from counterfoil.drills.target import Target

FOUND = 1
SANDBOX = "sandbox"
SHAPE = (
    "{target, target_digest, versions, backend, counted, boundaries:[boundary], cases:[CASE], "
    "summary:{cases, passed, failed, not_applicable, not_run, seconds}, guards:[{guard, caught_by:[case_id]}], registered:[DRILL], kept}"
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What was asked for."""

    listed: bool
    only: str | None
    players: int
    seed: int
    receivers: "Callable[[], Receivers]"
    where: "InFile | OnServer"
    register: bool = False


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("drill", data=SHAPE, shows=drill_pages.drilled, also=(FOUND,))
    def drill(  # noqa: PLR0913 - each is an option of the command
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
        receiver: Annotated[
            str,
            typer.Option(metavar="sandbox|MODULE:ADAPTER", help="Your own receiver in its test mode; else sandboxes."),
        ] = SANDBOX,
        receiver_url: Annotated[
            str | None, typer.Option(metavar="URL", help="Any HTTP receiver, behind the lossy proxy.")
        ] = None,
        register: Annotated[
            bool,
            typer.Option("--register", help="A whole drill without a failure lets its operations be sent unattended."),
        ] = False,
        mutate: Annotated[
            str | None,
            typer.Option(metavar="[GUARD]", help="Take protections away, one at a time; some drill must notice each."),
        ] = None,
        html: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as one page.")] = None,
        junit: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the report as JUnit XML.")] = None,
    ) -> Any:
        """Kill, freeze and mislead your own workflow at every boundary, recover it, and judge by what its receiver holds."""
        from counterfoil.cli.targets import target_of
        from counterfoil.drills.target import Target

        check_writable(html, junit)
        app, name = target_of(invocation, target)
        where = invocation.located()
        own = {"--app": invocation.target, "--receiver": _adapter(receiver), "--receiver-url": receiver_url}
        own["--db"] = where.shown if where.backend == "postgres" else None
        typed = (target, *(word for option, value in own.items() if value is not None for word in (option, value)))
        found = Target.of(app, name, text=target, typed=typed, seed=seed)
        for each in found.left_out:
            invocation.warn("drill_left_out", f"{each} has no scenario, and others have: it is not drilled.")
        receivers, alone = _receivers(app, _adapter(receiver), receiver_url)
        asked = Wanted(listed, only, 1 if alone else players, seed, receivers, where, register)
        with as_interrupted():
            answer = (
                _drilled(invocation, found, asked) if mutate is None else _mutated(invocation, found, mutate, asked)
            )
        written(answer.data, html=html, junit=junit)
        return answer


def _adapter(receiver: str) -> str | None:
    return None if receiver == SANDBOX else receiver


def _receivers(app: "App", adapter: str | None, url: str | None) -> "tuple[Callable[[], Receivers], bool]":
    """What stands for the receivers, and whether cases must be played one at a time."""
    from counterfoil.drills.outside import Sandboxes
    from counterfoil.drills.receivers import own_receivers

    if adapter is None and url is None:
        return Sandboxes, False
    return own_receivers(app, adapter=adapter, url=url), True


def _drilled(invocation: Invocation, target: "Target", asked: Wanted) -> Answer:
    from counterfoil.drills.plan import planned_of, wanted
    from counterfoil.drills.registering import rehearsal_of
    from counterfoil.drills.report import listed, report_of
    from counterfoil.drills.running import Ensemble
    from counterfoil.engine.clock import SystemClock
    from counterfoil.testing.case_ledger import ledgers_at

    clock = SystemClock()
    began, ledgers = clock.boot_us(), ledgers_at(asked.where)
    with (
        drill_pages.DrillProgress(invocation.streams.notes()) as progress,
        Ensemble(
            target, players=asked.players, seed=asked.seed, receivers=asked.receivers, ledgers=ledgers, keep=True
        ) as ensemble,
    ):
        learned = ensemble.learn()
        cases = wanted(planned_of(learned), asked.only)
        if asked.register:
            _check_register(target, learned, cases, asked)
        progress.planned(len(cases))
        if asked.listed:
            played = listed(cases, target, asked.seed)
        else:
            played = ensemble.play(cases, learned, progress)
        report = report_of(target, learned, played, (clock.boot_us() - began) / 1_000_000, ensemble.counted)
    report["backend"] = asked.where.backend
    report["kept"] = None if ensemble.kept is None else str(ensemble.kept)
    failed = bool(report["summary"]["failed"])
    if asked.register and not failed:
        rehearsal = rehearsal_of(target, learned, played, asked.seed)
        report["registered"] = awaited(target.app.drills.register(rehearsal))["items"]
    return Answer(report, FOUND if failed else 0)


def _mutated(invocation: Invocation, target: "Target", guard: str, asked: Wanted) -> Answer:
    from counterfoil.cli.drill_mutating import mutated

    if asked.listed or asked.register:
        raise Refused("usage", problem="--mutate goes with neither --list nor --register")
    return mutated(invocation, target, guard, asked)


def _check_register(target: "Target", learned: "Sequence[Learned]", cases: "Sequence[Planned]", asked: Wanted) -> None:
    """Before minutes of drilling: is there a database to register in, and is the drill whole?"""
    from counterfoil.drills.registering import check_whole

    if asked.listed:
        raise Refused("usage", problem="--list plays no case, so there is nothing to register")
    target.app.open()
    check_whole(learned, cases, target)
