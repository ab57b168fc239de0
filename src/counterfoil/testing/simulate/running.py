"""Many schedules, one after the other: what they found, in the fields of `counterfoil simulate`; and the smallest that still fails."""

import time
from collections import Counter
from collections.abc import Callable, Set
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from typing import Any

from counterfoil.rules.recovery import CASES
from counterfoil.testing.simulate.focused import FOCUSED, beginning, direct
from counterfoil.testing.simulate.options import SWITCHES
from counterfoil.testing.simulate.schedule import Played, play

DEFAULT_RUNS = 40  # of them drawn; the focused ones come before them
EXCUSED: dict[str, str] = {
    "AA": "says that our own record contradicts itself: no disturbance from outside may bring it about",
}
"""Cases that no schedule may reach, and why."""


@dataclass(slots=True)
class Report:
    """All that the schedules came to. `as_json` gives the fields of the command."""

    seed: int
    schedules: int = 0
    seconds: float = 0.0
    faults: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(SWITCHES, 0)))
    cases: set[str] = field(default_factory=lambda: set())
    residue: Counter[str] = field(default_factory=lambda: Counter())
    violations: list[dict[str, Any]] = field(default_factory=lambda: [])
    unaccounted: int = 0
    simulated_s: float = 0.0
    runs: int = 0
    repeat: str | None = None
    _digest: Any = field(default_factory=sha256)

    def add(self, played: Played) -> None:
        """One more schedule."""
        self.schedules += 1
        self._digest.update(f"{played.seed} {played.digest}\n".encode())
        self.faults.update(played.faults)
        self.cases |= played.cases
        self.residue.update(played.residue)
        self.unaccounted += played.unaccounted
        self.simulated_s += played.simulated_s
        self.runs += sum(played.ends.values())

    def as_json(self) -> dict[str, Any]:
        """As in the reference of the command line."""
        letters = [case.letter for case in CASES]
        missed = [letter for letter in letters if letter not in self.cases and letter not in EXCUSED]
        return {
            "seed": self.seed,
            "schedules": self.schedules,
            "schedules_per_s": round(self.schedules / self.seconds, 2) if self.seconds else None,
            "trace_digest": f"sha256:{self._digest.hexdigest()}",
            "faults": dict(sorted(self.faults.items())),
            "cases_hit": [letter for letter in letters if letter in self.cases],
            "cases_missed": missed,
            "cases_excused": EXCUSED,
            "residue": dict(sorted(self.residue.items())),
            "runs": self.runs,
            "simulated_seconds": round(self.simulated_s),
            "unaccounted_runs": self.unaccounted,
            "violations": self.violations,
            "repeat": self.repeat,
        }


def simulate(
    seed: int,
    *,
    runs: int | None = None,
    seconds: float | None = None,
    off: Set[str] = frozenset(),
    told: Callable[[Report], None] = lambda report: None,
) -> Report:
    """Play the schedules of seed, seed + 1, ...: so many, or for so many seconds. It ends at the first violation.

    `off`: disturbances that are switched off. `told` hears of each schedule.
    """
    report = Report(seed)
    began = time.monotonic()
    first = beginning() if runs is None and seconds is None else []
    wanted = len(first) + DEFAULT_RUNS if first else runs
    while (wanted is None or report.schedules < wanted) and (seconds is None or report.seconds < seconds):
        focus = first[report.schedules] if report.schedules < len(first) else None
        played = _focused(*focus, off) if focus else play(seed + report.schedules - len(first), off=off)
        report.add(played)
        report.seconds = time.monotonic() - began
        told(report)
        if played.violations:
            smallest, without = (played, off) if focus else shrunk(played, off)
            report.violations = [
                _violation(smallest, violation.checker, violation.what) for violation in smallest.violations
            ]
            report.repeat = f"counterfoil simulate --seed {seed}" if focus else command(smallest.seed, without)
            break
    return report


def _focused(name: str, seed: int, off: Set[str]) -> Played:
    return play(seed, off=off, options=FOCUSED[name], directed=partial(direct, name))


def command(seed: int, off: Set[str]) -> str:
    """What repeats exactly one schedule."""
    switched = "".join(f" --off {name}" for name in sorted(off))
    return f"counterfoil simulate --seed {seed} --runs 1{switched}"


def shrunk(played: Played, off: Set[str], *, tries: int = 60) -> tuple[Played, Set[str]]:
    """Switch off one disturbance after the other while the same checker still finds something."""
    wanted = {violation.checker for violation in played.violations}
    smallest, without = played, frozenset(off)
    for name in sorted(played.options.rates):
        if tries <= 0:
            break
        tries -= 1
        candidate = play(played.seed, off=without | {name})
        if wanted & {violation.checker for violation in candidate.violations}:
            smallest, without = candidate, without | {name}
    return smallest, without


def _violation(played: Played, checker: str, what: str) -> dict[str, Any]:
    return {
        "checker": checker,
        "what": what,
        "seed": played.seed,
        "on": sorted(played.options.rates),
        "story": played.lines,
    }
