"""The noun `backups`: a copy of a ledger in a file, with what belongs to it, taken while it is in use; and whether one is whole."""

import hashlib
import json
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from counterfoil.app.located import InFile, Located
from counterfoil.app.verification import report
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.opened import Opened
from counterfoil.model.codec import compact, digest_of
from counterfoil.model.errors import Refused
from counterfoil.store.artifacts import kept_as
from counterfoil.store.durable_file import failures_of, flush_folder, replace_file
from counterfoil.store.sqlite_backup import copy_database, sound_file
from counterfoil.store.verify import verify as verify_database

DATABASE, ARTIFACTS, MANIFEST = "ledger.db", "ledger.db.artifacts", "backup.json"
MARKER, HEADS = "marker.json", "marker.heads"
FORMAT = 1
_CHUNK = 1 << 20

Progress = Callable[[str, int, int], None]
"""(what, how much is done, how much there is)."""


def silent(what: str, done: int, of: int) -> None:
    """Nobody watches."""
    del what, done, of


@dataclass(frozen=True, slots=True)
class Backups:
    """`app.backups`. `looking` opens a database without comparing its place."""

    opened: Callable[[], Opened]
    where: Callable[[], Located]
    looking: Callable[[Located], AbstractContextManager[Opened]]

    def create(self, folder: Path, progress: Progress = silent) -> dict[str, Any]:
        """BACKUP: `{folder, taken_at, installation_id, incarnation, schema_version, files, bytes, digest}`, of one snapshot.

        The folder must not exist: it is there once the backup is whole. Raises Refused(usage, backup_exists, backup_of_server).
        """
        where, opened = self.where(), self.opened()
        if not isinstance(where, InFile):
            raise Refused("backup_of_server", location=where.shown)
        if folder.exists():
            raise Refused("backup_exists", folder=str(folder))
        partial = folder.with_name(folder.name + ".partial")
        with failures_of("the backup"):
            shutil.rmtree(partial, ignore_errors=True)  # of one that was cut off
            partial.mkdir(parents=True)
        taken_at = opened.clock.now_us()
        # The marker first: a database may be ahead of it, never behind. Artifacts last: they are there before a commit names them.
        _copy_marker(opened, partial)
        copy_database(where.path, partial / DATABASE, lambda left, of: progress("pages", of - left, of))
        _copy_artifacts(where.path.with_name(where.path.name + ".artifacts"), partial / ARTIFACTS, progress)
        installation = opened.installation()
        files = [_described(partial, path) for path in _files(partial)]
        manifest = {
            "format": FORMAT, "taken_at": rfc3339(taken_at), "installation_id": installation.installation_id,
            "incarnation": installation.incarnation, "schema_version": opened.schema_version(), "files": files,
        }  # fmt: skip
        text = compact(manifest).encode()
        replace_file(partial / MANIFEST, text)
        with failures_of("the backup"):
            partial.rename(folder)
            flush_folder(folder.parent)
        return _view(folder, manifest, text)

    def verify(self, folder: Path, progress: Progress = silent) -> dict[str, Any]:
        """BACKUP with `{sound, damaged: [{path, problem}], record}`; `record` is VERIFY of the database in it, None if it cannot be read.

        Neither the live database nor its state folder is looked at. Raises Refused(no_backup).
        """
        try:
            text = (folder / MANIFEST).read_bytes()
            manifest: dict[str, Any] = json.loads(text)
            files = [(str(f["path"]), int(f["size"]), str(f["sha256"])) for f in manifest["files"]]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise Refused("no_backup", folder=str(folder), problem=f"{type(problem).__name__}: {problem}") from problem
        damaged = list(_damaged(folder, files, progress))
        record = None if any(each["path"] == DATABASE for each in damaged) else self._record(folder)
        if record is not None:
            damaged += [{"path": f"artifact {digest}", "problem": "missing"} for digest in record.pop("missing")]
        sound = not damaged and record is not None and record["sound"]
        return _view(folder, manifest, text) | {"sound": sound, "damaged": damaged, "record": record}

    def _record(self, folder: Path) -> dict[str, Any] | None:
        """What `verify` says of the database, in a copy: opening a database changes its file."""
        with tempfile.TemporaryDirectory() as place:
            file = Path(place) / DATABASE
            shutil.copyfile(folder / DATABASE, file)
            if sound_file(file) is not None:
                return None
            with self.looking(InFile(file)) as opened, opened.read() as reader:
                found = report(verify_database(reader, ()))
                named = {digest for _, entry in reader.journal() for digest in _artifacts_in(json.loads(entry.body))}
        held = {f"sha256:{path.parent.name}{path.name}" for path in _files(folder / ARTIFACTS)}
        return found | {"missing": sorted(named - held)}


def _copy_marker(opened: Opened, to: Path) -> None:
    if opened.marker is not None and (kept := opened.marker.files()) is not None:
        mark, heads = kept
        replace_file(to / MARKER, mark)
        replace_file(to / HEADS, heads)


def _copy_artifacts(source: Path, to: Path, progress: Progress) -> None:
    found = [path for path in _files(source) if not path.name.endswith(".new")]
    for done, path in enumerate(found, 1):
        replace_file(to / path.relative_to(source), path.read_bytes())
        progress("artifacts", done, len(found))


def _files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file()) if folder.is_dir() else []


def _described(folder: Path, path: Path) -> dict[str, Any]:
    return {"path": path.relative_to(folder).as_posix(), "size": path.stat().st_size, "sha256": _digest(path)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _damaged(folder: Path, files: Iterable[tuple[str, int, str]], progress: Progress) -> Iterator[dict[str, str]]:
    listed = list(files)
    for done, (name, size, digest) in enumerate(listed, 1):
        path = folder / name
        if not path.is_file():
            yield {"path": name, "problem": "missing"}
        elif path.stat().st_size != size or _digest(path) != digest:
            yield {"path": name, "problem": "changed"}
        progress("files", done, len(listed))
    known = {name for name, _, _ in listed} | {MANIFEST}
    for path in _files(folder):
        if path.relative_to(folder).as_posix() not in known:
            yield {"path": path.relative_to(folder).as_posix(), "problem": "unknown"}


def _artifacts_in(value: Any) -> Iterator[str]:
    """Digests of artifacts that an entry names: where it keeps one instead of a value, and where it tells of one."""
    if isinstance(value, dict):
        known = cast("dict[str, Any]", value)
        digest = kept_as(known) or (known["digest"] if known.keys() == {"name", "digest", "size"} else None)
        if isinstance(digest, str) and digest.startswith("sha256:"):
            yield digest
        for each in known.values():
            yield from _artifacts_in(each)
    elif isinstance(value, list):
        for each in cast("list[Any]", value):
            yield from _artifacts_in(each)


def _view(folder: Path, manifest: dict[str, Any], text: bytes) -> dict[str, Any]:
    return {
        "folder": str(folder), "taken_at": manifest["taken_at"], "installation_id": manifest["installation_id"],
        "incarnation": manifest["incarnation"], "schema_version": manifest["schema_version"],
        "files": len(manifest["files"]), "bytes": sum(each["size"] for each in manifest["files"]), "digest": digest_of(text),
    }  # fmt: skip
