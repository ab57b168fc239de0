"""Guard mutation: one protection is taken away at a time, and a drill must then fail that passes with it.

First on the target, with the cases that tell the most about the guard; then on the battery, until one of its cases fails.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Protocol, Self

from counterfoil.drills.case import Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.outside import Receivers, Sandboxes
from counterfoil.drills.plan import planned_of, wanted
from counterfoil.drills.report import Case
from counterfoil.drills.running import Ensemble
from counterfoil.drills.target import Target
from counterfoil.model.errors import Refused
from counterfoil.testing.guards import GUARDS

BATTERY = "counterfoil.drills.battery"

# Which cases tell the most about a guard, by globs over their ids; those that name a workflow are the battery's.
TELLING: Mapping[str, Sequence[str]] = {
    "key-reuse": ("keyed/operation.replied#1/kill-after", "*/operation.replied#*/kill-after", "*/drop-reply"),
    "request-digest": ("varying/operation.replied#1/kill-after", "*/operation.replied#*/kill-after"),
    "fence": ("keyed/step.ended#1/freeze-takeover-thaw", "*/step.ended#*/freeze-takeover-thaw", "*/freeze-takeover-thaw"),
    "attempt-deadline": ("*/freeze-takeover-thaw:thawed-past-window", "*/freeze-takeover-thaw:window-over"),
    "payload-digest": ("reviewed/*/answer-other-version", "*/answer-other-version"),
    "approval-recheck": ("reviewed/*/authority-withdrawn", "*/authority-withdrawn"),
    "approval-single-use": ("reviewed_twice/run.submitted#1/kill-after", "*/answer-twice"),
    "visibility-wait": ("asked/operation.replied#1/kill-after", "*/lookup-lags"),
    "window-check": ("keyed/*/key-window-over", "*/key-window-over"),
    "business-key": ("named/run.submitted#1/kill-after", "*/two-deliveries:other-id"),
    "stop-check": ("keyed/operation.in_flight#1/restored-file", "*/operation.in_flight#*/restored-file"),
    "budget-check": ("*/step-always-fails",),
    "tombstone": ("*/run.finished#*/resubmit-same", "*/resubmit-same"),
    "sender-gone": ("asked/operation.first_byte#1/freeze-takeover-thaw", "*/operation.first_byte#*/freeze-takeover-thaw"),
    "lost-history": ("keyed_then_asked/operation.in_flight#1/restored-file", "*/restored-file"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutated:
    """`guards`: {guard, caught_by: [case_id]}, in the order of `counterfoil guards`. `cases`: those, with the guard on.

    `learned`: the clean runs of the target. `counted`: whose account of its records the verdicts are taken from.
    """

    guards: list[dict[str, Any]]
    cases: list[Case]
    learned: list[Learned]
    counted: str

    @property
    def uncaught(self) -> list[str]:
        """The guards whose removal no drill has noticed."""
        return [each["guard"] for each in self.guards if not each["caught_by"]]


class Watching(Protocol):
    """Told as things happen, by several threads."""

    def planned(self, cases: int) -> None:
        """So many guards are going to be taken away."""
        ...

    def began(self, planned: Planned) -> None:
        """A case is played without a guard."""
        ...

    def ended(self, case: Case) -> None:
        """A guard is missed by this case, which passes with it."""
        ...


def guards_named(name: str | None) -> list[str]:
    """This guard, or all. Raises Refused(not_found)."""
    if name is None:
        return list(GUARDS)
    if name not in GUARDS:
        raise Refused("not_found", what="guard", id=name)
    return [name]


def battery(seed: int = 0) -> Target:
    """The built-in target on which every guard is missed."""
    from counterfoil.drills.battery import app

    return Target.of(app, None, text=f"{BATTERY}:app", seed=seed)


def mutate(
    target: Target,
    guards: Sequence[str],
    *,
    players: int = 2,
    seed: int = 0,
    only: str | None = None,
    receivers: Callable[[], Receivers] = Sandboxes,
    watching: Watching | None = None,
) -> Mutated:
    """Take each guard away until a case fails that passes with it: on the target, then on the battery.

    On the target the most telling cases are played, of those that fit `only`; on the battery then all that differ in
    workflow or fault. Raises Refused: drill_not_clean, usage.
    """
    builtin = battery(seed)
    with ExitStack() as stack:
        last = own = stack.enter_context(
            Ground(target, players=players, seed=seed, receivers=receivers, watching=watching)
        )
        if target.app is not builtin.app:
            last = stack.enter_context(Ground(builtin, players=players, seed=seed, watching=watching))
        if watching is not None:
            watching.planned(len(guards))
        places = [(own, wanted(own.cases, only))]
        if last is not own:
            places.append((last, last.cases))
        with ThreadPoolExecutor(players) as threads:
            played = [threads.submit(_told, guard, places) for guard in guards]
        found = {guard: future.result() for guard, future in zip(guards, played, strict=True)}
        for guard in [guard for guard, case in found.items() if case is None]:
            found[guard] = last.search(guard, list(_one_of_each(places[-1][1])))
    caught = {case["case_id"]: case for case in found.values() if case is not None}
    named = [{"guard": name, "caught_by": [] if case is None else [case["case_id"]]} for name, case in found.items()]
    return Mutated(named, list(caught.values()), own.learned, own.counted)


def _told(guard: str, places: "Sequence[tuple[Ground, Sequence[Planned]]]") -> Case | None:
    """By the telling cases alone, one after another."""
    for ground, cases in places:
        for case in telling(cases, guard):
            missed = ground.missed(guard, case)
            if missed is not None:
                return missed
    return None


def telling(cases: Sequence[Planned], guard: str) -> list[Planned]:
    """For each telling glob of a guard the first case that fits it, each once."""
    first = (_first(cases, glob) for glob in TELLING.get(guard, ()))
    return list({case.case_id: case for case in first if case is not None}.values())


def _first(cases: Iterable[Planned], glob: str) -> Planned | None:
    return next((case for case in cases if fnmatchcase(case.case_id, glob)), None)


def _one_of_each(cases: Iterable[Planned]) -> Iterable[Planned]:
    found: dict[tuple[str, str, str | None], Planned] = {}
    for case in cases:
        found.setdefault((case.workflow, case.fault, case.variant), case)
    return found.values()


class Ground:
    """One target, learned once, on which several threads play cases with a guard and without it. A context manager."""

    def __init__(
        self,
        target: Target,
        *,
        players: int,
        seed: int,
        receivers: Callable[[], Receivers] = Sandboxes,
        watching: Watching | None = None,
    ) -> None:
        # One player each, so that two threads may be without different guards at the same time.
        self._ensembles = [Ensemble(target, players=1, seed=seed, receivers=receivers) for _ in range(players)]
        self._free: SimpleQueue[Ensemble] = SimpleQueue()
        self._watching = watching
        self._with: dict[str, Case] = {}
        self._stack = ExitStack()
        self.learned: list[Learned] = []
        self.cases: list[Planned] = []
        self.counted = ""

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for ensemble in self._ensembles:
                self._free.put(stack.enter_context(ensemble))
            self.learned = self._ensembles[0].learn()
            self.counted = self._ensembles[0].counted
            self.cases = planned_of(self.learned)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def missed(self, guard: str, planned: Planned) -> Case | None:
        """The case with the guard on, where it passes with it and fails without it: only then the removal was noticed."""
        if self._watching is not None:
            self._watching.began(planned)
        ensemble = self._free.get()
        try:
            (without,) = ensemble.play([planned], self.learned, without=guard)
            if without["verdict"] != "fail":
                return None
            whole = self._with.get(planned.case_id)
            if whole is None:
                (whole,) = ensemble.play([planned], self.learned)
                self._with[planned.case_id] = whole
        finally:
            self._free.put(ensemble)
        if whole["verdict"] != "pass":
            return None
        if self._watching is not None:
            self._watching.ended(whole)
        return whole

    def search(self, guard: str, cases: Sequence[Planned]) -> Case | None:
        """All of these cases, as many at once as there are players, until one has noticed."""
        found: list[Case] = []

        def tried(planned: Planned) -> None:
            missed = None if found else self.missed(guard, planned)
            if missed is not None:
                found.append(missed)

        with ThreadPoolExecutor(len(self._ensembles)) as threads:
            list(threads.map(tried, cases))
        return next(iter(found), None)
