"""Large bytes by digest, in a folder beside the database. Saving twice is harmless; nothing is ever changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from counterfoil.model.artifact import Artifact
from counterfoil.model.codec import digest_of
from counterfoil.model.errors import Refused
from counterfoil.store.durable_file import failures_of, flush_folder, replace_file

Whole = Callable[[Any], Any]
"""A value of an entry as it was before it was kept as an artifact: `ArtifactStore.whole` of some store."""


def kept_as(value: Any) -> str | None:
    """The digest of a value that an entry names instead of holding it; None for one that stands in the entry."""
    if not isinstance(value, dict) or cast("dict[str, Any]", value).keys() != {"artifact"}:
        return None
    return str(cast("dict[str, Any]", value)["artifact"])


class ArtifactStore:
    """`<database>.artifacts/ab/cdef...`: the two first letters of the digest are a folder."""

    def __init__(self, database: Path) -> None:
        self._folder = database.with_name(database.name + ".artifacts")

    def save(self, content: bytes, *, name: str) -> Artifact:
        """Keep the bytes; on disk when it returns. Raises StorageError."""
        digest = digest_of(content)
        target = self._path(digest)
        with failures_of("the artifact folder"):
            if not self._holds(target, digest):
                new = not target.parent.exists()
                replace_file(target, content)
                if new:
                    flush_folder(self._folder)
                    flush_folder(self._folder.parent)
        return Artifact(name=name, digest=digest, size=len(content))

    def read(self, digest: str) -> bytes:
        """The bytes. Raises Refused: artifact_missing, or artifact_damaged when they do not fit the digest."""
        path = self._path(digest)
        with failures_of("the artifact folder"):
            if not path.exists():
                raise Refused("artifact_missing", digest=digest)
            content = path.read_bytes()
        if digest_of(content) != digest:
            raise Refused("artifact_damaged", digest=digest)
        return content

    def whole(self, value: Any) -> Any:
        """A value of an entry, read back where the entry only names it. Raises as `read`."""
        digest = kept_as(value)
        return value if digest is None else json.loads(self.read(digest))

    def _path(self, digest: str) -> Path:
        method, _, letters = digest.partition(":")
        if method != "sha256" or len(letters) != 64 or not set(letters) <= set("0123456789abcdef"):
            raise Refused("artifact_missing", digest=digest)
        return self._folder / letters[:2] / letters[2:]

    def _holds(self, target: Path, digest: str) -> bool:
        # A damaged file is written anew: whoever saves brings the right bytes.
        return target.exists() and digest_of(target.read_bytes()) == digest
