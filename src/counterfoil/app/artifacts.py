"""Large bytes by digest: saving twice is harmless."""

import asyncio
from collections.abc import Callable

from counterfoil.engine.opened import Opened
from counterfoil.model.artifact import Artifact


class Artifacts:
    """The artifact store of an application's database."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    async def save(self, content: bytes, *, name: str) -> Artifact:
        """Keep the bytes; on disk when it returns."""
        return await asyncio.to_thread(self._opened().artifacts.save, content, name=name)

    async def read(self, artifact: Artifact) -> bytes:
        """The bytes. Raises Refused(artifact_missing | artifact_damaged)."""
        return await asyncio.to_thread(self._opened().artifacts.read, artifact.digest)
