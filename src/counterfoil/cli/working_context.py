"""`counterfoil documents`."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.command import Cursor, Limit, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import heading, more, sentence, table

if TYPE_CHECKING:
    from rich.console import Console

documents = group("documents", "Working context with a type: knowledge for reasoning, each version kept.")

Which = Annotated[str, typer.Argument(metavar="DOCUMENT", help="An id, a unique start of it, a number, or doc-NUMBER.")]
COLUMNS = ("document", "name", "scope", "of", "version", "written")


def listed(console: "Console", data: Mapping[str, Any]) -> None:
    """Each document on a line."""
    rows = [
        (f"doc-{each['number']}", each["name"], each["scope"], each["conversation"] or each["key"], each["version"], each["at"])
        for each in data["items"]
    ]  # fmt: skip
    table(console, COLUMNS, rows, empty="No document was written yet.")
    more(console, data) if "next_cursor" in data else None


def shown(console: "Console", data: Mapping[str, Any]) -> None:
    """One document, and what stands in each version."""
    of = data["conversation"] or data["key"]
    heading(console, f"{data['name']} (doc-{data['number']}), {data['scope']} {of}, version {data['version']}")
    for version in data["versions"]:
        writer = version["written_by"]
        by = f" by {writer['by']}" if writer["by"] else ""
        heading(console, f"version {version['version']}  {version['at']}  run-{writer['number']}{by}")
        sentence(console, json.dumps(version["body"], ensure_ascii=False, indent=2))


@documents.command("list", data="{items:[WORKING_DOCUMENT], next_cursor}", shows=listed)
def list_documents(invocation: Invocation, cursor: Cursor = None, limit: Limit = 50) -> Any:
    """List documents, the newest first."""
    return invocation.app().documents.list(cursor=cursor, limit=limit)


@documents.command("show", data="WORKING_DOCUMENT and {versions:[VERSION]}", shows=shown)
def show(
    invocation: Invocation,
    document: Which,
    version: Annotated[int | None, typer.Option("--version", metavar="N", min=1, help="One version alone.")] = None,
) -> Any:
    """Show a document with its versions, the newest first, and the run that wrote each."""
    return invocation.app().documents.show(document, version=version)
