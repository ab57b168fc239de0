"""Four workers and their server under a seeded storm: everything is accounted for, and the receivers' counts are right."""

import pytest

from tests.crash.chaos import FAULTS, chaos, schedule


def test_the_seed_draws_what_happens() -> None:
    assert list(schedule(7, 30)) == list(schedule(7, 30))
    assert list(schedule(7, 30)) != list(schedule(8, 30))
    for seed in range(20):
        assert {fault.name for fault in schedule(seed, 60)} == set(FAULTS), "each kind in a minute, whatever the seed"


@pytest.mark.timeout(400)  # a minute where nothing else works
def test_a_storm() -> None:
    told = chaos(seed=20, seconds=10, workers=4, runs=24)
    assert (told["unaccounted_runs"], told["unaccounted"], told["wrong"], told["sound"]) == (0, [], [], True)
    assert told["runs"] == 24 and told["rows_compared"] > 24
    assert told["missing"] == [] and set(told["faults"]) == set(FAULTS)
