"""`counterfoil backup`."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.command import Answer, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import sentence, table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

FOUND = 1
BACKUP = "folder, taken_at, installation_id, incarnation, schema_version, files, bytes, digest"
Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The folder of the backup.")]

backup = group("backup", "Copies of a ledger in a file, taken while it is in use.")


def verified(console: "Console", data: Any) -> None:
    """One sentence, and what is damaged."""
    state = "is whole" if data["sound"] else "is NOT whole"
    sentence(console, f"The backup of {data['taken_at']} {state}: {data['files']} files, {data['bytes']} bytes.")
    record = data["record"]
    if record is None:
        sentence(console, "Its database cannot be read.")
    else:
        sentence(
            console, f"{record['chains']} chains, {record['entries']} entries, {record['rows_compared']} rows compared."
        )
        rows = [(b["run_id"], b["sequence"], b["problem"]) for b in record["broken"]]
        rows += [(f"{d['table']} {d['key']}", "", d["column"]) for d in record["differences"]]
        if rows:
            table(console, ("record", "entry", "problem"), rows, empty="")
    if data["damaged"]:
        table(console, ("file", "problem"), [(d["path"], d["problem"]) for d in data["damaged"]], empty="")


@backup.command("create", data=f"{{{BACKUP}}}", shows=pages.record)
def create(invocation: Invocation, folder: Folder) -> Any:
    """Copy the ledger with its artifacts and its outside marker, as of one instant; workers go on. The folder must not exist."""
    with _progress(invocation) as shown:
        return invocation.app().backups.create(folder, _told(shown))


@backup.command(
    "verify",
    data=f"{{{BACKUP}, sound, damaged:[{{path, problem: missing|changed|unknown}}], record}}",
    shows=verified,
    also=(FOUND,),
)
def verify(invocation: Invocation, folder: Folder) -> Any:
    """Check every file of a backup, its database's pages, chains and tables, and that no artifact is missing. Exit 1 when not whole."""
    with _progress(invocation) as shown:
        data = invocation.app().backups.verify(folder, _told(shown))
    return Answer(data, 0 if data["sound"] else FOUND)


def _progress(invocation: Invocation) -> "AbstractContextManager[Progress]":
    """Bars on standard error, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(file=invocation.streams.err)
    return Progress(console=console, transient=True, disable=not console.is_terminal)


def _told(shown: "Progress") -> Any:
    bars: dict[str, Any] = {}

    def told(what: str, done: int, of: int) -> None:
        if what not in bars:
            bars[what] = shown.add_task(what, total=of)
        shown.update(bars[what], completed=done, total=of)

    return told
