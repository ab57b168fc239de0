"""Large bytes by digest, in a folder beside the database. Saving twice is harmless; nothing is ever changed."""

import errno
import os
from pathlib import Path

from counterfoil.model.artifact import Artifact
from counterfoil.model.codec import digest_of
from counterfoil.model.errors import Refused
from counterfoil.store.port import StorageError


class ArtifactFolder:
    """`<database>.artifacts/ab/cdef...`: the two first letters of the digest are a folder."""

    def __init__(self, database: Path) -> None:
        self._folder = database.with_name(database.name + ".artifacts")

    def save(self, content: bytes, *, name: str) -> Artifact:
        """Keep the bytes; on disk when it returns. Raises StorageError."""
        digest = digest_of(content)
        target = self._path(digest)
        try:
            if not self._holds(target, digest):
                self._write(target, content)
        except OSError as problem:
            full = problem.errno in (errno.ENOSPC, errno.EDQUOT)
            raise StorageError("disk_full" if full else "storage_failed", problem=f"{target}: {problem}") from problem
        return Artifact(name=name, digest=digest, size=len(content))

    def read(self, digest: str) -> bytes:
        """The bytes. Raises Refused: artifact_missing, or artifact_damaged when they do not fit the digest."""
        try:
            content = self._path(digest).read_bytes()
        except FileNotFoundError:
            raise Refused("artifact_missing", digest=digest) from None
        except OSError as problem:
            raise StorageError("storage_failed", problem=f"artifact {digest}: {problem}") from problem
        if digest_of(content) != digest:
            raise Refused("artifact_damaged", digest=digest)
        return content

    def _path(self, digest: str) -> Path:
        method, _, letters = digest.partition(":")
        if method != "sha256" or len(letters) != 64 or not set(letters) <= set("0123456789abcdef"):
            raise Refused("artifact_missing", digest=digest)
        return self._folder / letters[:2] / letters[2:]

    def _holds(self, target: Path, digest: str) -> bool:
        # A damaged file is written anew: whoever saves brings the right bytes.
        return target.exists() and digest_of(target.read_bytes()) == digest

    def _write(self, target: Path, content: bytes) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f"{target.name}.{os.getpid()}.new")
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(target)
        for folder in (target.parent, self._folder, self._folder.parent):
            _flush_folder(folder)


def _flush_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
