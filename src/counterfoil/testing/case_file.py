"""A case's ledger that is a SQLite file, with all that lies beside it in its folder."""

import hashlib
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from counterfoil.engine.clock import SystemClock
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.port import Reader
from counterfoil.store.sqlite import SqliteDatabase
from counterfoil.testing.case_ledger import CaseLedger

ENDINGS = ("", "-wal", "-shm")  # the files of a SQLite database
SHARED_MEMORY = "-shm"  # which is no part of a backup


@dataclass(frozen=True, slots=True)
class FileLedger:
    """See CaseLedger. Backups and copies lie beside the file's folder."""

    file: Path
    backend: str = "sqlite"

    @property
    def db(self) -> str:
        """The path."""
        return str(self.file)

    @property
    def environ(self) -> dict[str, str]:
        """Nothing."""
        return {}

    def there(self) -> bool:
        """Whether the file is."""
        return self.file.exists()

    @contextmanager
    def reader(self) -> Generator[Reader, None, None]:
        """A process that is frozen or dead hinders nobody. Raises StorageError where there is no file."""
        database = SqliteDatabase(self.file, SystemClock())
        try:
            with database.reader() as reader:
                yield reader
        finally:
            database.close()

    def content(self) -> dict[str, Any]:
        """{files: {name: {bytes, sha256}}} of the file and its log."""
        found = [self.file.with_name(self.file.name + ending) for ending in ENDINGS if ending != SHARED_MEMORY]
        return {
            "files": {
                file.name: {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
                for file in found
                if file.exists()
            }
        }

    def head(self) -> dict[str, Any]:
        """Read from a copy: whoever closes a file last changes it."""
        with tempfile.TemporaryDirectory() as folder:
            copy = FileLedger(Path(folder) / self.file.name)
            _copy_files(self.file, copy.file)
            return head_in(copy)

    def back_up(self) -> CaseLedger:
        """The whole folder."""
        return self._copied_to("backup")

    def put_back(self, backup: CaseLedger, *, whole: bool) -> None:
        """The files of the database, or the whole folder. What lies outside of it stays."""
        kept = Path(backup.db)
        if whole:
            shutil.rmtree(self.file.parent)
            shutil.copytree(kept.parent, self.file.parent)
            return
        for ending in ENDINGS:
            self.file.with_name(self.file.name + ending).unlink(missing_ok=True)
        _copy_files(kept, self.file)

    def copied(self) -> CaseLedger:
        """The whole folder."""
        return self._copied_to("elsewhere")

    def moved(self) -> CaseLedger:
        """The folder bears another name."""
        folder = self._beside("moved")
        self.file.parent.rename(folder)
        return FileLedger(folder / self.file.name)

    def remove(self) -> None:
        """Nothing: its files go with the case's folder."""

    def _copied_to(self, name: str) -> CaseLedger:
        folder = self._beside(name)
        shutil.copytree(self.file.parent, folder)
        return FileLedger(folder / self.file.name)

    def _beside(self, name: str) -> Path:
        beside = self.file.parent.parent
        names = (name if n == 1 else f"{name}-{n}" for n in count(1))
        return next(beside / each for each in names if not (beside / each).exists())


def head_in(ledger: CaseLedger) -> dict[str, Any]:
    """What a ledger's own row says of its newest commit, as `CaseLedger.head` gives it."""
    try:
        with ledger.reader() as reader:
            found = reader.installation
    except CounterfoilError as refused:
        return {"refused": refused.code}
    if found is None:
        return {"batches": 0}
    return {"batches": found.batches, "in_flight_batch": found.in_flight_batch, "incarnation": found.incarnation}


def _copy_files(source: Path, target: Path) -> None:
    for ending in ENDINGS:
        file = source.with_name(source.name + ending)
        if file.exists() and ending != SHARED_MEMORY:
            shutil.copyfile(file, target.with_name(target.name + ending))
