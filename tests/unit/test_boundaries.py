"""Crash points: what is counted, who is told, and at which hit a process is ended."""

import signal
import subprocess
import sys

import pytest

from counterfoil.engine.boundaries import BOUNDARIES, NAMES, Boundaries, CrashPoint, crash_point


def test_each_boundary_has_one_name_and_a_row() -> None:
    assert len(NAMES) == len(BOUNDARIES)
    assert {boundary.kind for boundary in BOUNDARIES} == {"commit", "send", "reply", "flush"}
    assert {boundary.row for boundary in BOUNDARIES} <= {*range(14)}
    assert {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13} <= {boundary.row for boundary in BOUNDARIES}  # 3 writes nothing


READ = {
    "run.claimed": CrashPoint("run.claimed", "after", 1),
    "after:run.claimed": CrashPoint("run.claimed", "after", 1),
    "before:run.claimed": CrashPoint("run.claimed", "before", 1),
    "run.claimed#3": CrashPoint("run.claimed", "after", 3),
    "before:operation.first_byte#2": CrashPoint("operation.first_byte", "before", 2),
}


@pytest.mark.parametrize("text", READ)
def test_a_crash_point_is_read(text: str) -> None:
    assert crash_point(text) == READ[text]


@pytest.mark.parametrize("text", [None, "", "none"])
def test_no_crash_point(text: str | None) -> None:
    assert crash_point(text) is None


@pytest.mark.parametrize("text", ["run.claime", "before:", "before:#2", "#", "run.claimed#two"])
def test_a_crash_point_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        crash_point(text)


def test_a_commit_is_one_hit_that_lists_its_verbs() -> None:
    seen: list[tuple[str, list[str]]] = []
    boundaries = Boundaries(observers=[lambda when, names: seen.append((when, list(names)))])
    boundaries.before(["step.ended", "step.ended", "run.finished"])
    boundaries.after(["step.ended", "step.ended", "run.finished"])
    boundaries.reach("operation.first_byte")
    assert boundaries.hits == {"commit": 1, "send": 1}
    assert boundaries.passed == {"step.ended": 2, "run.finished": 1, "operation.first_byte": 1}
    assert [when for when, _ in seen] == ["before", "after"] * 2


KILLED = """
import sys
from counterfoil.engine.boundaries import Boundaries, crash_point
boundaries = Boundaries(crash_point(sys.argv[1]))
for n in range(3):
    print("before", n, flush=True); boundaries.before(("run.claimed", "step.ended"))
    print("after", n, flush=True); boundaries.after(("run.claimed", "step.ended"))
print("end", flush=True)
"""


@pytest.mark.parametrize(
    ("text", "last"),
    [
        ("step.ended", "after 0"),
        ("before:step.ended#2", "before 1"),
        ("run.claimed#3", "after 2"),
        ("run.parked", "end"),
    ],
)
def test_the_process_ends_there_and_nowhere_else(text: str, last: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-c", KILLED, text], capture_output=True, text=True, timeout=15, check=False
    )
    assert ended.returncode == (0 if last == "end" else -signal.SIGKILL), ended.stderr
    assert ended.stdout.splitlines()[-1] == last


def test_an_ended_point_ends_nothing_more() -> None:
    spent = Boundaries(CrashPoint("run.claimed", hit=1, how=signal.SIGCONT))
    told: list[int] = []
    before = signal.signal(signal.SIGCONT, lambda number, _: told.append(number))
    try:
        for _ in range(3):
            spent.reach("run.claimed")
    finally:
        signal.signal(signal.SIGCONT, before)
    assert told == [signal.SIGCONT]
