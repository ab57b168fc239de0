"""Which crash tests are played on which backend: those of BOTH on both, equally often, and of every other module why it is not."""

from collections import Counter

import pytest

BACKENDS = ("sqlite", "postgres")

BOTH = ("boundaries", "deliveries", "restores", "freeze", "agent_killed", "agent_owners", "budgets", "conversations")

_COMMITS = (
    "it dies at commits that are killed on both backends in BOTH; what differs between its cases lies above the store"
)
_DISK = "a file's disk is cut and counted from within the process; what a server does with its disk is the server's"
ONE_BACKEND = {
    "power": _DISK,
    "counts": _DISK,
    "postgres_lost": "connections that break: SQLite has none",
    "backends": "it only counts",
    "fleet": "its workers share a server: on PostgreSQL alone",
    "chaos": "its workers share a server, which is restarted and frozen: on PostgreSQL alone",
    "adoption": _COMMITS,
    "agent": _COMMITS,
    "agent_again": _COMMITS,
    "agent_changed": _COMMITS,
    "agent_operations": _COMMITS,
    "agent_sleeps": _COMMITS,
    "bench": _COMMITS,
    "budgets_of_tools": _COMMITS,
    "crash_loops": _COMMITS,
    "endings": _COMMITS,
    "four_eyes": _COMMITS,
    "metrics": _COMMITS,
    "support_desk": _COMMITS,
    "support_writes": _COMMITS,
    "suspects": _COMMITS,
    "tools_agents": _COMMITS,
    "tools_mcp": _COMMITS,
    "tools_resolve": _COMMITS,
    "tools_review": _COMMITS,
    "tools_unknowing": _COMMITS,
    "user_code": _COMMITS,
}


def backends_of(module: str) -> tuple[str, ...]:
    """The backends on which the tests of a module test_NAME are played."""
    return BACKENDS if module.removeprefix("test_") in BOTH else BACKENDS[:1]


COLLECTED = pytest.StashKey[dict[str, Counter[str]]]()


def counted(items: list[pytest.Item]) -> dict[str, Counter[str]]:
    """By backend: how often each test of BOTH was collected, whatever its other parameters."""
    found = {backend: Counter[str]() for backend in BACKENDS}
    for item in items:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and item.path.stem.removeprefix("test_") in BOTH and "ledgers" in callspec.params:
            found[callspec.params["ledgers"]][item.nodeid.partition("[")[0]] += 1
    return found
