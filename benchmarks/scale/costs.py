"""What a run of ten steps costs the server: commits, bytes of its log, bytes of its tables, and connections of a worker."""

from dataclasses import dataclass
from urllib.parse import urlsplit

from benchmarks.scale.programs.told import STEPS
from benchmarks.scale.systems import Counterfoil
from benchmarks.scale.workers import workers
from tests.servers.postgres import PostgresServer


@dataclass(frozen=True, slots=True)
class Costs:
    """Per run of ten steps, `at_once` of them together. `log` is the server's write-ahead log. `connections`: a worker's."""

    at_once: int
    commits: float
    log_bytes: float
    table_bytes: float
    connections: int


def costs(server: PostgresServer, ours: Counterfoil, at_once: int, rounds: int, *, prefix: str) -> Costs:
    """So many runs together, so often one after the other."""
    database = urlsplit(ours.db).path.removeprefix("/")

    def counted() -> tuple[int, int, int]:
        with ours.app.open().read() as reader:
            installation = reader.installation
        assert installation is not None
        place, size = server.ask("SELECT pg_current_wal_lsn() - '0/0', pg_database_size(%s)", database)[0]
        return installation.batches, int(place), int(size)

    def connected() -> int:
        return int(server.ask("SELECT count(*) FROM pg_stat_activity WHERE datname = %s", database)[0][0])

    with workers(1, ours.command, ours.environ):
        ours.all_done([f"{prefix}-warm-{number}" for number in range(16)], 2)
    alone, most = connected(), 0
    server.ask("CHECKPOINT")
    before = counted()
    with workers(1, ours.command, ours.environ):
        for each in range(rounds):
            ours.all_done([f"{prefix}-{each}-{number}" for number in range(at_once)], STEPS)
            most = max(most, connected())
    runs = at_once * rounds
    commits, log, size = (new - old for new, old in zip(counted(), before, strict=True))
    return Costs(at_once, commits / runs, log / runs, size / runs, max(0, most - alone))
