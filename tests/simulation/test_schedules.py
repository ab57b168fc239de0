"""Schedules drawn from seeds: clean, the same twice, the same in another process; and what a report says of them."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from counterfoil.testing.simulate import SWITCHES, options_of, play, running, simulate
from counterfoil.testing.simulate.checkers import Violation
from counterfoil.testing.simulate.contracts import names
from counterfoil.testing.simulate.options import drawn
from counterfoil.testing.simulate.people import People
from counterfoil.testing.simulate.running import EXCUSED, command
from counterfoil.testing.simulate.schedule import Played
from counterfoil.testing.simulate.trouble import Trouble
from counterfoil.testing.simulate.world import World

FEW = range(5, 9)
DIGESTS = "from counterfoil.testing.simulate import play\nfor seed in (5, 8): print(play(seed).digest)"


def test_a_few_schedules_are_clean_and_something_happened_in_them() -> None:
    played = [play(seed) for seed in FEW]
    assert [each.violations for each in played] == [[]] * len(FEW)
    assert [each.unaccounted for each in played] == [0] * len(FEW)
    assert sum(sum(each.faults.values()) for each in played) > 20
    assert sum(sum(each.ends.values()) for each in played) >= len(FEW)
    assert len(set[str]().union(*(each.cases for each in played))) > 5


def test_a_seed_gives_the_same_history_in_two_processes_with_different_hash_seeds() -> None:
    def digests(hash_seed: str) -> list[str]:
        environ = {**os.environ, "PYTHONHASHSEED": hash_seed}
        done = subprocess.run([sys.executable, "-c", DIGESTS], env=environ, capture_output=True, text=True, check=True)
        return done.stdout.split()

    first = digests("1")
    assert first == digests("2") and len(set(first)) == 2


def test_the_same_seed_gives_the_same_digest_twice_and_another_one_another() -> None:
    first, again, other = simulate(8, runs=1), simulate(8, runs=1), simulate(7, runs=1)
    assert first.as_json()["trace_digest"] == again.as_json()["trace_digest"] != other.as_json()["trace_digest"]


def test_every_disturbance_and_every_operation_is_drawn_by_some_seed() -> None:
    options = [options_of(seed) for seed in range(200)]
    assert {name for each in options for name in each.rates} == set(SWITCHES)
    assert {name for each in options for name in each.operations} == set(names())
    assert {each.workers for each in options} == {1, 2, 3, 4, 8}
    assert drawn(World(3).chance("options"), names()) == options_of(3)


def test_every_disturbance_has_somebody_who_brings_it_about() -> None:
    folder = Path(running.__file__).parent
    text = "".join(
        file.read_text() for file in sorted(folder.glob("*.py")) if file.name not in ("options.py", "running.py")
    )
    acted = {*Trouble._acts, *People._acts}  # pyright: ignore[reportPrivateUsage]
    assert [name for name in SWITCHES if name not in acted and f'"{name}"' not in text] == []


def test_what_is_switched_off_does_not_happen() -> None:
    assert play(8, off=frozenset(SWITCHES)).faults == {}


# ------------------------------------------------------------------ reports


@pytest.fixture
def broken(monkeypatch: pytest.MonkeyPatch) -> list[frozenset[str]]:
    """Schedules that fail while `kill` is on."""
    asked: list[frozenset[str]] = []

    def fake(seed: int, *, off: frozenset[str] = frozenset()) -> Played:
        asked.append(frozenset(off))
        played = Played(seed, options_of(seed).without(off), digest=f"sha256:{seed}", lines=["it dies"])
        played.options.rates["kill"] = 1.0
        if seed == 12 and "kill" not in off:
            played.violations = [Violation("duplicates", "2 records")]
        return played

    monkeypatch.setattr(running, "play", fake)
    return asked


def test_a_violation_ends_it_and_is_told_with_the_smallest_schedule_and_what_repeats_it(
    broken: list[frozenset[str]],
) -> None:
    found = simulate(10, runs=9).as_json()
    assert found["schedules"] == 3
    (violation,) = found["violations"]
    assert (violation["checker"], violation["what"], violation["seed"]) == ("duplicates", "2 records", 12)
    assert violation["on"] == ["kill"] and violation["story"] == ["it dies"]
    off = sorted(options_of(12).rates.keys() - {"kill"})
    assert found["repeat"] == command(12, frozenset(off))
    assert found["repeat"].startswith("counterfoil simulate --seed 12 --runs 1")
    assert len(broken) > len(off)


def test_a_report_names_what_was_never_hit(broken: list[frozenset[str]]) -> None:
    found = simulate(1, runs=2).as_json()
    assert set(found["faults"]) == set(SWITCHES)
    assert set(found["cases_missed"]) | set(found["cases_hit"]) | set(EXCUSED) >= {"A", "Z", "AA"}
    assert found["violations"] == [] and found["repeat"] is None


def test_so_many_seconds_instead_of_so_many_schedules(broken: list[frozenset[str]]) -> None:
    heard: list[int] = []
    report = simulate(1, seconds=0.05, told=lambda each: heard.append(each.schedules))
    assert report.schedules == len(heard) >= 1


def test_the_command_answers_in_json_and_refuses_what_is_no_disturbance(tmp_path: Path) -> None:
    asked = [sys.executable, "-m", "counterfoil", "simulate", "--seed", "8", "--json"]
    done = subprocess.run(
        [*asked, "--runs", "1", "--off", "kill"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    data = json.loads(done.stdout)["data"]
    assert done.returncode == 0 and data["schedules"] == 1 and data["violations"] == []
    wrong = subprocess.run([*asked, "--off", "rain"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert wrong.returncode == 2 and "rain" in json.loads(wrong.stdout)["error"]["message"]
