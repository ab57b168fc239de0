"""`counterfoil audit`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from counterfoil.cli import inbox_pages, pages
from counterfoil.cli.command import Limit, group
from counterfoil.cli.invocation import Invocation

if TYPE_CHECKING:
    from counterfoil.app.audit import AuditFilter, Format

audit = group("audit", "Who did what.")

Who = Annotated[str | None, typer.Option("--person", metavar="NAME", help="Done by this person.")]
Verb = Annotated[str | None, typer.Option(help="A kind of entry: answer, resolved, tended, writes, grant, ...")]
Day = Annotated[str | None, typer.Option(metavar="DAY", help="On this day: YYYY-MM-DD, in UTC.")]


@audit.command("list", data="{items:[ACT], next_cursor}", shows=inbox_pages.acts)
def list_acts(
    invocation: Invocation,
    person: Who = None,
    verb: Verb = None,
    day: Day = None,
    cursor: Annotated[
        str | None, typer.Option("--cursor", metavar="C", help="Go on where `next_cursor` of the page before says.")
    ] = None,
    limit: Limit = 50,
) -> Any:
    """List what people did, the newest first, each with its digest and its place in the chain."""
    return invocation.app().audit.list(_wanted(person, verb, day), cursor=cursor, limit=limit)


@audit.command("export", data="{file, format: jsonl|csv, lines, digest}", shows=pages.record)
def export(
    invocation: Invocation,
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="Written anew; an existing file is refused.")],
    person: Who = None,
    verb: Verb = None,
    day: Day = None,
    format: Annotated[
        str, typer.Option("--format", metavar="jsonl|csv", help="JSON lines hold every detail.")
    ] = "jsonl",
) -> Any:
    """Write what people did into a file, the newest first, and give the digest of what was written."""
    import hashlib

    lines = invocation.app().audit.export(_wanted(person, verb, day), as_=cast("Format", format))
    digest, count = hashlib.sha256(), 0
    with out.open("xb") as file:
        for line in lines:
            written = line.encode("utf-8", "backslashreplace")
            file.write(written)
            digest.update(written)
            count += 1
    return {"file": str(out), "format": format, "lines": count, "digest": f"sha256:{digest.hexdigest()}"}


def _wanted(person: str | None, verb: str | None, day: str | None) -> "AuditFilter":
    from counterfoil.app.audit import AuditFilter

    return AuditFilter(person, verb, day)
