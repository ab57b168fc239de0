"""What a server says of how it keeps commits. Known without its driver, so that whoever shows it needs none."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PostgresSettings:
    """`synchronous_commit` as our batches have it: `off` is never taken. `standbys`: each by its name and sync_state.

    `same_host`: the server is where its client is. `turn_free`: whether the lock of all batches could be had at once.
    """

    version: str
    synchronous_commit: str
    configured: str
    fsync: bool
    full_page_writes: bool
    wal_level: str
    synchronous_standby_names: str
    standbys: list[str]
    bytes: int
    clock_us: int
    same_host: bool
    schema: str
    schema_version: int
    turn_free: bool
    turn_holders: list[str]

    @property
    def confirmed(self) -> int:
        """How many standbys confirm a commit before it is answered, as far as the server shows them."""
        waits = self.synchronous_commit in {"on", "remote_apply", "remote_write"} and bool(
            self.synchronous_standby_names
        )
        return sum(standby.endswith((" sync", " quorum")) for standby in self.standbys) if waits else 0
