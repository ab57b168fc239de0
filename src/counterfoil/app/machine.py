"""What this host says about the place of a file: its file system, its free space, its device."""

import shutil
from dataclasses import dataclass
from pathlib import Path

_IN_MEMORY = frozenset({"tmpfs", "ramfs", "devtmpfs"})
_WITH_CONTAINER = frozenset({"overlay", "aufs", "overlayfs"})
_OVER_NETWORK = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph", "glusterfs", "fuse.sshfs"})


@dataclass(frozen=True, slots=True)
class Place:
    """`filesystem` is its type, unknown where the host does not say. `device` tells two file systems apart."""

    filesystem: str
    device: int
    free_bytes: int

    @property
    def ephemeral(self) -> bool:
        """Gone with the next boot, or with the container."""
        return self.filesystem in _IN_MEMORY | _WITH_CONTAINER

    @property
    def remote(self) -> bool:
        """A network file system, on which a write-ahead log is not safe between hosts."""
        return self.filesystem in _OVER_NETWORK


def place_of(path: Path) -> Place:
    """The place of an existing file or folder, or of the nearest folder above one that is not there."""
    here = path.absolute()
    while not here.exists():
        here = here.parent
    return Place(_filesystem(here.resolve()), here.stat().st_dev, shutil.disk_usage(here).free)


def _filesystem(path: Path) -> str:
    try:
        lines = Path("/proc/mounts").read_text("utf-8").splitlines()
    except OSError:
        return "unknown"
    best, found = -1, "unknown"
    for line in lines:
        words = line.split()
        mounted = Path(words[1].replace("\\040", " "))
        # The later mount of one place hides the earlier.
        if (path == mounted or mounted in path.parents) and len(mounted.parts) >= best:
            best, found = len(mounted.parts), words[2]
    return found
