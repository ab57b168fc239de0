"""Playing: players that share nothing, each with its own processes, take one case after another.

A player is a thread over a fork server. The children that it forks are whole processes of their own, and really killed.
"""

import json
import shutil
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from types import TracebackType
from typing import Protocol, Self, TypeVar

from counterfoil.drills.case import Applied, NotApplied, Planned
from counterfoil.drills.evidence import Evidence, Held
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.learning import Learned, operations_of, passed_of
from counterfoil.drills.outside import Receivers, Sandboxes, more_of
from counterfoil.drills.report import Case, case_of, repeat_of, unplayed
from counterfoil.drills.scenario import Scenario
from counterfoil.drills.seen import LOOK, Seen
from counterfoil.drills.stage import LEDGER, Stage
from counterfoil.drills.target import Target
from counterfoil.drills.verdict import judge
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Env
from counterfoil.model.errors import Refused
from counterfoil.testing.case_ledger import MakeLedger, files
from counterfoil.testing.children import ChildFailed, Children
from counterfoil.testing.loopback.process import LoopbackFailed
from counterfoil.testing.model_server.process import ModelServerProcess

T = TypeVar("T")
C = TypeVar("C")
# What must not reach the children from the shell in which a drill is started.
NOT_OURS = dict.fromkeys(
    (
        "COUNTERFOIL_DB", "COUNTERFOIL_CRASH_AT", "COUNTERFOIL_APPROVAL_KEY", "COUNTERFOIL_LOG", "COUNTERFOIL_SECRET",
        "COUNTERFOIL_DRILL_GATE",  # a drill must be able to send to its own receivers before it is registered
    ), ""
)  # fmt: skip


class Progress(Protocol):
    """Told as things happen, by several threads."""

    def began(self, planned: Planned) -> None:
        """A case is being played."""
        ...

    def ended(self, case: Case) -> None:
        """It has been judged."""
        ...


class Player:
    """One fork server and one set of receivers. Used by one thread at a time."""

    def __init__(
        self,
        target: Target,
        folder: Path,
        environ: dict[str, str],
        receivers: Receivers,
        seed: int,
        *,
        keep: bool = False,
        make: MakeLedger = files,
    ) -> None:
        self._target, self._folder, self._environ, self._keep, self._make = target, folder, environ, keep, make
        self._receivers, self._seed = receivers, seed
        self._numbers = count(1)
        self._clock = SystemClock()
        try:
            self._children = Children(target.place, environ=environ)
        except ChildFailed as failed:  # it could be imported here, and cannot in a process of its own
            receivers.close()
            raise Refused("app_not_found", target=target.place, problem=_last_line(failed)) from failed

    def learn(self, scenario: Scenario) -> Learned:
        """A clean run. Raises Refused(drill_not_clean) when it does not complete."""
        began = self._clock.boot_us()
        stage = self._stage(scenario, None)
        try:
            stage.lives()
            hits, seen = stage.passed(), look(stage)
        except ChildFailed as failed:
            raise Refused("drill_not_clean", workflow=scenario.workflow, problem=_last_line(failed)) from failed
        finally:
            self._left(stage)
        run = seen.runs[0]
        if run["state"] != "completed":
            said = f"{run['sentence']} {_failure(run)}".strip()
            raise Refused("drill_not_clean", workflow=scenario.workflow, problem=f"it is {run['state']}. {said}")
        played = [other for other in self._target.scenarios if other.workflow == scenario.workflow]
        return Learned(
            workflow=scenario.workflow,
            version=run["workflow_version"],
            scenario=scenario,
            several=len(played) > 1,
            passed=passed_of(hits, seen),
            operations=operations_of(self._target.app.registry, seen),
            reviews=len(seen.reviews),
            steps=tuple(dict.fromkeys(entry["name"] for entry in seen.entries if entry["kind"] == "step")),
            seconds=(self._clock.boot_us() - began) / 1_000_000,
            seen=seen,
        )

    def play(self, planned: Planned, learned: Learned, without: str | None = None) -> Case:
        """Disturb, recover, look, judge. Whatever happens gives a case."""
        began = self._clock.boot_us()
        repeat = repeat_of(planned, self._target, self._seed)
        fault = FAULTS[planned.fault]
        if fault.not_built is not None:
            return unplayed(planned, "not_run", f"not_built: it comes with issue {fault.not_built}.", repeat=repeat)
        lacking = self._receivers.lacks(planned.fault)
        if lacking is not None:
            return unplayed(planned, "not_applicable", f"receiver: {lacking}", repeat=repeat)
        stage, kept = self._stage(learned.scenario, without), False
        try:
            evidence = _evidence(stage, planned, learned, fault.play(stage, planned))
            case = case_of(planned, evidence, judge(evidence), seconds=self._since(began), repeat=repeat)
            kept = self._keep and case["next_action"]["command"] is not None
            return case
        except NotApplied as problem:
            reason = f"not_applied: {problem}"
        except (ChildFailed, LoopbackFailed, TimeoutError) as problem:
            reason = f"not_at_rest: {_last_line(problem)}"
        finally:
            self._left(stage, kept=kept)
        return unplayed(planned, "fail", reason, seconds=self._since(began), repeat=repeat)

    @property
    def counted(self) -> str:
        """Whose account of the records its verdicts are taken from."""
        return self._receivers.counted

    def close(self) -> None:
        """End its processes."""
        self._children.close()
        self._receivers.close()

    def _stage(self, scenario: Scenario, without: str | None) -> Stage:
        part = f"case-{next(self._numbers)}"
        scenario = self._receivers.prepared(scenario)
        receivers = self._receivers.of(scenario, part)
        named = {
            definition.url.name: receivers[name].url
            for name, definition in self._target.app.registry.receivers.items()
            if isinstance(definition.url, Env) and name in receivers
        }
        return Stage(
            self._folder / part,
            scenario,
            self._children,
            receivers,
            {**self._environ, **named, **more_of(receivers), **scenario.environ},
            self._target.modules,
            self._seed,
            without,
            make=self._make,
        )

    def _left(self, stage: Stage, *, kept: bool = False) -> None:
        """Nothing stays, or the ledger that the case's next action names."""
        stage.close()
        if not kept:
            stage.ledger.remove()
            shutil.rmtree(stage.folder, ignore_errors=True)
            return
        for file in stage.folder.iterdir():
            if file.is_dir() and file.name != LEDGER:
                shutil.rmtree(file, ignore_errors=True)
            elif file.is_file():
                file.unlink()

    def _since(self, began: int) -> float:
        return (self._clock.boot_us() - began) / 1_000_000


def look(stage: Stage) -> Seen:
    """What a fresh child reads of the ledger. Raises ChildFailed."""
    told = stage.folder / "seen.json"
    stage.lives(LOOK, to=str(told))
    return Seen.of(json.loads(told.read_text()))


def _evidence(stage: Stage, planned: Planned, learned: Learned, applied: Applied) -> Evidence:
    held = {name: Held(outside.records(), outside.writes()) for name, outside in stage.receivers.items()}
    return Evidence(
        planned=planned,
        applied=applied,
        seen=look(stage),
        held=held,
        request_id=stage.request_id,
        operations={operation.name: operation for operation in learned.operations},
    )


def _last_line(problem: BaseException) -> str:
    lines = [line for line in str(problem).splitlines() if line.strip()]
    return lines[0] if len(lines) < 2 else f"{lines[0]} {lines[-1]}"


def _failure(run: dict[str, object]) -> str:
    return "" if run["failure"] is None else json.dumps(run["failure"])


class Ensemble:
    """All players of one target, from entering to leaving. Cases may be played in it more than once (guard mutation).

    `keep`: the ledgers of unresolved cases stay, so that what their next actions print can be typed; `kept` is where.
    """

    def __init__(
        self,
        target: Target,
        *,
        players: int = 2,
        seed: int = 0,
        receivers: Callable[[], Receivers] = Sandboxes,
        ledgers: MakeLedger = files,
        keep: bool = False,
    ) -> None:
        self.target = target
        self._count, self._seed, self._make, self._keep = players, seed, receivers, keep
        self._ledgers = ledgers
        self.kept: Path | None = None
        self.players: list[Player] = []
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="counterfoil-drill-"))
            stack.callback(self._swept, folder)
            model = stack.enter_context(ModelServerProcess())
            environ = NOT_OURS | model.environment
            with ThreadPoolExecutor(self._count) as starting:
                made = [starting.submit(self._player, folder / f"player-{n}", environ) for n in range(self._count)]
            for each in made:
                if each.exception() is None:
                    stack.callback(each.result().close)
            self.players = [each.result() for each in made]
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def _swept(self, folder: Path) -> None:
        """Of the temporary folder the ledgers stay that a printed command names."""
        if any(folder.glob("player-*/case-*")) and self._keep:
            self.kept = folder
        else:
            shutil.rmtree(folder, ignore_errors=True)

    @property
    def counted(self) -> str:
        """Whose account of the records the verdicts are taken from."""
        return self.players[0].counted

    def learn(self) -> list[Learned]:
        """A clean run of every scenario. Raises Refused(drill_not_clean)."""
        return self._all(self.target.scenarios, lambda player, scenario: player.learn(scenario))

    def play(
        self,
        cases: Sequence[Planned],
        learned: Sequence[Learned],
        progress: Progress | None = None,
        *,
        without: str | None = None,
    ) -> list[Case]:
        """Play the cases, as many at once as there are players; the CASEs in the same order."""
        known = {(each.workflow, each.scenario.name if each.several else None): each for each in learned}

        def played(player: Player, planned: Planned) -> Case:
            if progress is not None:
                progress.began(planned)
            case = player.play(planned, known[planned.workflow, planned.scenario], without)
            if progress is not None:
                progress.ended(case)
            return case

        return self._all(cases, played)

    def _player(self, folder: Path, environ: dict[str, str]) -> Player:
        folder.mkdir()
        made, kept = self._make(), self._keep
        return Player(self.target, folder, environ, made, self._seed, keep=kept, make=self._ledgers)

    def _all(self, wanted: Sequence[T], does: Callable[[Player, T], C]) -> list[C]:
        free: SimpleQueue[Player] = SimpleQueue()
        for player in self.players:
            free.put(player)

        def one(each: T) -> C:
            player = free.get()
            try:
                return does(player, each)
            finally:
                free.put(player)

        threads = ThreadPoolExecutor(len(self.players))
        try:
            return list(threads.map(one, wanted))
        finally:
            threads.shutdown(cancel_futures=True)  # interrupted: what has begun ends, and nothing more begins
