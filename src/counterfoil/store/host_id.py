"""The id of a host: a name that nobody else has, kept in its state folder. Hosts that share the folder are one host."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from counterfoil.store.durable_file import failures_of, flush_folder, replace_file

NAME = "host"


def host_id_in(state: Path, new: Callable[[], str]) -> str:
    """The id that is there, else a `new` one, which is on disk when this returns. Raises StorageError."""
    path = state / NAME
    with failures_of("the id of this host"):
        if not path.exists():
            offered = path.with_name(f"{NAME}.{new()}")
            replace_file(offered, new().encode())
            # Of several processes that begin at once the first one's name stays: a link never replaces.
            with suppress(FileExistsError):
                os.link(offered, path)
            offered.unlink()
            flush_folder(state)
        return path.read_text("utf-8").strip()
