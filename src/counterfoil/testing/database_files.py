"""What the files of a database are, from outside: sizes, digests, and the newest commit, read without touching them."""

import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

from counterfoil.engine.clock import SystemClock
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.sqlite import SqliteDatabase

ENDINGS = ("", "-wal", "-shm")  # the files of a SQLite database


def files_of(db: Path) -> dict[str, Any]:
    """{files: {name: {bytes, sha256}}} of a database's file and its log."""
    found = [db.with_name(db.name + ending) for ending in ENDINGS[:2]]
    return {
        "files": {
            file.name: {"bytes": file.stat().st_size, "sha256": hashlib.sha256(file.read_bytes()).hexdigest()}
            for file in found
            if file.exists()
        }
    }


def head_of(db: Path) -> dict[str, Any]:
    """{batches, in_flight_batch, incarnation} of a database, read from a copy: whoever closes a file last changes it."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / db.name
        for ending in ENDINGS[:2]:
            if (file := db.with_name(db.name + ending)).exists():
                shutil.copyfile(file, copy.with_name(file.name))
        try:
            database = SqliteDatabase(copy, SystemClock())
        except CounterfoilError as refused:
            return {"refused": refused.code}
        try:
            with database.reader() as reader:
                found = reader.installation
        finally:
            database.close()
    if found is None:
        return {"batches": 0}
    return {"batches": found.batches, "in_flight_batch": found.in_flight_batch, "incarnation": found.incarnation}
