"""Every crash test is played on both backends, equally often. What is not, says why, and where the other meets the same danger."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
BACKENDS = ("sqlite", "postgres")


@dataclass(frozen=True, slots=True)
class Alone:
    """A module on one backend, whose fault the other does not have.

    `elsewhere`: FILE::TEST below tests/ for the same danger on the other.
    """

    backend: str
    why: str
    elsewhere: tuple[str, ...]


ALONE = {
    "power": Alone(
        "sqlite",
        "the sectors of a file are lost or torn from within its process; what a server does with its disk is the server's",
        (
            "crash/test_postgres_lost.py::test_a_server_that_is_killed_and_a_standby",
            "crash/test_postgres_lost.py::test_a_lost_answer_to_a_commit_that_took_place_is_a_commit",
            "crash/test_postgres_lost.py::test_a_commit_that_never_arrived_stored_nothing",
            "edges/test_postgres_promoted.py::test_a_standby_that_was_behind_what_was_sent_is_a_restore",
        ),
    ),
    "postgres_lost": Alone(
        "postgres",
        "a connection to a server breaks, and a file has none",
        ("crash/test_power.py::test_the_power_goes_at_a_flush", "crash/test_disk.py::test_a_disk_that_fails_once"),
    ),
    "fleet": Alone(
        "postgres",
        "its workers share a server, each with a state folder and the rights of a worker alone; a file has no such rights",
        ("crash/test_freeze.py::test_frozen_past_its_lease_and_its_deadline",),
    ),
    "sixteen": Alone(
        "postgres",
        "as the fleet: each worker has the rights of a worker alone",
        ("crash/test_freeze.py::test_thawed_after_its_lease_and_before_its_deadline",),
    ),
    "chaos": Alone(
        "postgres",
        "the server is restarted, frozen and cut off under its workers",
        (
            "crash/test_boundaries.py::test_lives_of_a_few_boundaries_each",
            "crash/test_power.py::test_the_power_goes_at_a_flush",
        ),
    ),
}
# Tests that open no ledger.
NO_LEDGER = {
    "test_backends.py::test_both_backends_play_the_same_cases",
    "test_backends.py::test_what_is_on_one_backend_alone_is_met_on_the_other",
    "test_bench.py::test_an_application_without_a_name_is_refused",
}


def counted(items: list[pytest.Item]) -> dict[str, Counter[str]]:
    """By backend: how often each test was collected, whatever its other parameters. Under "": tests that know no backend."""
    found = {backend: Counter[str]() for backend in (*BACKENDS, "")}
    for item in items:
        if item.path.parent == HERE and item.path.stem.removeprefix("test_") not in ALONE:
            callspec = getattr(item, "callspec", None)
            backend = "" if callspec is None else callspec.params.get("ledgers", "")
            found[backend][item.nodeid.rpartition("/")[2].partition("[")[0]] += 1
    return found


COLLECTED = pytest.StashKey[dict[str, Counter[str]]]()


def backends_of(module: str) -> tuple[str, ...]:
    """The backends on which the tests of a module test_NAME are played."""
    alone = ALONE.get(module.removeprefix("test_"))
    return BACKENDS if alone is None else (alone.backend,)
