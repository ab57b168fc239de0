"""A case's ledger that is a schema of a server, beside other things in its database, with a folder for its artifacts.

A backup is what a dump of the schema holds, kept in another schema. The marker lies in the state folder either way.
"""

import os
import shutil
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterfoil.model.errors import CounterfoilError
from counterfoil.store.port import Reader
from counterfoil.store.postgres import PostgresDatabase
from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_scratch import allow_writes, counts, drop, fill, refuse_writes, renamed, scratch_address
from counterfoil.testing.case_file import head_in
from counterfoil.testing.case_ledger import CaseLedger


def _none() -> "list[SchemaLedger]":
    return []


@dataclass(frozen=True, slots=True)
class SchemaLedger:
    """See CaseLedger. `folder` holds the artifacts; locks of processes lie in the state folder, as the server knows none."""

    address: PostgresAddress
    folder: Path
    made: "list[SchemaLedger]" = field(default_factory=_none)
    backend: str = "postgres"

    @staticmethod
    def beside(address: PostgresAddress, folder: Path) -> "SchemaLedger":
        """In a schema that is not there yet."""
        return SchemaLedger(scratch_address(address), folder)

    @property
    def db(self) -> str:
        """The address, password included."""
        return self.address.given

    @property
    def environ(self) -> dict[str, str]:
        """Where artifacts lie."""
        return {"COUNTERFOIL_FILES": str(self.folder)}

    def there(self) -> bool:
        """Whether its tables are."""
        return "refused" not in self.head()

    @contextmanager
    def reader(self) -> Generator[Reader, None, None]:
        """Waits for no batch. Raises Refused(no_database) where there is nothing."""
        database = PostgresDatabase(self.address)
        try:
            with database.reader() as reader:
                yield reader
        finally:
            database.close()

    def content(self) -> dict[str, Any]:
        """{tables: {name: rows}} of those that hold any."""
        return {"tables": counts(self.address)}

    def head(self) -> dict[str, Any]:
        """Read as any client does, which changes nothing."""
        return head_in(self)

    def back_up(self) -> CaseLedger:
        """Its rows at one moment, and its artifacts."""
        return self._copied_to("backup")

    def put_back(self, backup: CaseLedger, *, whole: bool) -> None:
        """The rows of the backup in place of those that are there. `whole`: the schema is made anew, and artifacts go back too."""
        assert isinstance(backup, SchemaLedger), "a backup of this kind"
        if whole:
            drop(self.address)
            shutil.rmtree(self.folder)
            shutil.copytree(backup.folder, self.folder)
        fill(self.address, backup.address)

    def copied(self) -> CaseLedger:
        """Another schema of the same database."""
        return self._copied_to("elsewhere")

    def moved(self) -> CaseLedger:
        """The schema bears another name."""
        moved = SchemaLedger(renamed(self.address), self.folder, self.made)
        self.made.append(moved)
        return moved

    def remove(self) -> None:
        """All schemas. One that cannot be reached stays where it is: the server is gone, or went with it."""
        for each in (self, *self.made):
            try:
                drop(each.address)
            except CounterfoilError:
                return

    def _copied_to(self, name: str) -> CaseLedger:
        folder = self.folder.parent / f"{name}-{len(self.made)}"
        shutil.copytree(self.folder, folder)
        copy = SchemaLedger(scratch_address(self.address), folder, self.made)
        self.made.append(copy)
        fill(copy.address, self.address)
        return copy


def without_room(db: str) -> None:
    """From here on the server refuses each batch of this ledger as one whose disk is full does."""
    refuse_writes(PostgresAddress.of(db))


def with_room(db: str) -> None:
    """There is room again."""
    allow_writes(PostgresAddress.of(db))


def cut_off(database: Any, way: int) -> int:
    """Cut the connection on which a batch is about to be written (socket.SHUT_RDWR: nothing leaves, SHUT_RD: nothing comes back).

    Gives the number of the server's process.
    """
    connection = database._writer
    with socket.socket(fileno=os.dup(connection.fileno())) as wire:
        wire.shutdown(way)
    return int(connection.info.backend_pid)
