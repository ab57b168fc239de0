"""Four workers and their server under a seeded storm: everything is accounted for, and the receivers' counts are right."""

from tests.crash.chaos import chaos, schedule


def test_the_seed_draws_what_happens() -> None:
    assert list(schedule(7, 30)) == list(schedule(7, 30))
    assert list(schedule(7, 30)) != list(schedule(8, 30))
    assert len({fault.name for fault in schedule(7, 300)}) >= 10


def test_a_storm() -> None:
    told = chaos(seed=20, seconds=10, workers=4, runs=24)
    assert (told["unaccounted_runs"], told["unaccounted"], told["wrong"]) == (0, [], [])
    assert told["runs"] == 24
    assert sum(told["faults"].values()) >= 4, told["faults"]
