"""What holds for every suite: Hypothesis repeats itself, and no test may hang."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent

# Seconds for one test. Suites that start, kill and wait for processes need more than the 10 of pyproject.toml.
LIMITS = {"architecture": 60, "unit": 20, "conformance": 30, "replay": 30, "exploration": 300}
LIMIT_WITH_PROCESSES = 120

# The same examples every time, wherever it runs: a red run can be repeated. `--hypothesis-profile=search` looks further.
settings.register_profile("repeat", derandomize=True, deadline=None, database=None)
settings.register_profile("search", deadline=None, max_examples=2000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("repeat")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("timeout") is None:
            suite = item.path.relative_to(TESTS).parts[0]
            item.add_marker(pytest.mark.timeout(LIMITS.get(suite, LIMIT_WITH_PROCESSES)))
