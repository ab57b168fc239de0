"""Guard mutation: one protection is taken away at a time, and a drill must then fail that passes with it.

First on the target, with the cases that tell the most about the guard; then on the battery, until one of its cases fails.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatchcase
from queue import SimpleQueue
from types import TracebackType
from typing import Any, Self

from counterfoil.drills.case import Planned
from counterfoil.drills.learning import Learned
from counterfoil.drills.plan import planned_of
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
    "business-key": ("named/run.submitted#1/kill-after", "*/two-deliveries"),
    "stop-check": ("keyed/operation.in_flight#1/restored-file", "*/operation.in_flight#*/restored-file"),
    "budget-check": ("*/step-always-fails",),
    "tombstone": ("*/run.finished#*/resubmit-same", "*/resubmit-same"),
    "sender-gone": ("asked/operation.first_byte#1/freeze-takeover-thaw", "*/operation.first_byte#*/freeze-takeover-thaw"),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mutated:
    """`guards`: {guard, caught_by: [case_id]}, in the order of `counterfoil guards`. `cases`: those that caught, with the guard on."""

    guards: list[dict[str, Any]]
    cases: list[Case]

    @property
    def uncaught(self) -> list[str]:
        """The guards whose removal no drill has noticed."""
        return [each["guard"] for each in self.guards if not each["caught_by"]]


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

    return Target.of(app, None, text=BATTERY, seed=seed)


def mutate(
    targets: Sequence[Target], guards: Sequence[str], *, players: int = 2, seed: int = 0, only: str | None = None
) -> Mutated:
    """Try each guard on these targets, in their order, until a case fails that passes with the guard.

    On all but the last target only the most telling cases are played, and of the first those that fit `only`. Raises
    Refused(drill_not_clean).
    """
    with ExitStack() as stack:
        grounds = [stack.enter_context(Ground(target, players=players, seed=seed)) for target in targets]

        def tried(guard: str) -> tuple[dict[str, Any], Case | None]:
            for n, ground in enumerate(grounds):
                cases = ground.cases if n or only is None else [case for case in ground.cases if fits(case, only)]
                for case in ordered(cases, guard, whole=ground is grounds[-1]):
                    passed = ground.missed(guard, case)
                    if passed is not None:
                        return {"guard": guard, "caught_by": [case.case_id]}, passed
            return {"guard": guard, "caught_by": []}, None

        with ThreadPoolExecutor(players) as threads:
            found = list(threads.map(tried, guards))
    cases = {case["case_id"]: case for _, case in found if case is not None}
    return Mutated([guard for guard, _ in found], list(cases.values()))


def ordered(cases: Sequence[Planned], guard: str, *, whole: bool) -> Iterator[Planned]:
    """The first case of each telling glob; then, for the whole, the first of each workflow and fault that is left."""
    played: set[str] = set()
    telling = (_first(cases, glob) for glob in TELLING.get(guard, ()))
    for case in (*telling, *(_one_of_each(cases) if whole else ())):
        if case is not None and case.case_id not in played:
            played.add(case.case_id)
            yield case


def fits(case: Planned, glob: str) -> bool:
    """As `--only`: by its id or its name."""
    return glob == case.case_id or any(fnmatchcase(text, glob) for text in (case.case_id, case.name or ""))


def _first(cases: Iterable[Planned], glob: str) -> Planned | None:
    return next((case for case in cases if fnmatchcase(case.case_id, glob)), None)


def _one_of_each(cases: Iterable[Planned]) -> Iterable[Planned]:
    found: dict[tuple[str, str, str | None], Planned] = {}
    for case in cases:
        found.setdefault((case.workflow, case.fault, case.variant), case)
    return found.values()


class Ground:
    """One target, learned once, on which several threads play cases with a guard and without it. A context manager."""

    def __init__(self, target: Target, *, players: int, seed: int) -> None:
        self._ensembles = [Ensemble(target, players=1, seed=seed) for _ in range(players)]
        self._free: SimpleQueue[Ensemble] = SimpleQueue()
        self._with: dict[str, Case] = {}
        self._stack = ExitStack()
        self.learned: list[Learned] = []
        self.cases: list[Planned] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            for ensemble in self._ensembles:
                self._free.put(stack.enter_context(ensemble))
            self.learned = self._ensembles[0].learn()
            self.cases = planned_of(self.learned)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def missed(self, guard: str, planned: Planned) -> Case | None:
        """The case with the guard on, where it passes with it and fails without it: only then the removal was noticed."""
        ensemble = self._free.get()
        try:
            (case,) = ensemble.play([planned], self.learned, without=guard)
            if case["verdict"] != "fail":
                return None
            whole = self._with.get(planned.case_id)
            if whole is None:
                (whole,) = ensemble.play([planned], self.learned)
                self._with[planned.case_id] = whole
            return whole if whole["verdict"] == "pass" else None
        finally:
            self._free.put(ensemble)
