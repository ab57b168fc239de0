"""`counterfoil receivers`: what real receivers guarantee, from the catalogue; and whether that contradicts itself."""

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from counterfoil.cli.command import Answer, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import fields, heading, sentence, table
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
OWN = ".toml"  # ends the name of a contract in a file of the user's own
receivers = group("receivers", "What outside systems guarantee.")
LISTED = "{id, name, kind, means, api_version, actions, key, window, lookup, first, confidence}"
SHOWN = (
    "{id, action, api_version, kind, contract, plan:[{moment, case, ruling, sentence}], sentences, unknown_fields, sources, "
    "name, means, actions, key, window, lookup, first, confidence, gaps, facts, not_verified, date}"
)
CHECKED = "{items:[{id, loads, plan, unread_fields, contradictions, gaps}], next_cursor}"
Which = Annotated[str, typer.Argument(metavar="ENTRY", help="An entry of the catalogue, as `receivers list` names it.")]


def entry_table(console: "Console", data: Any) -> None:
    """Id, kind, key, window, lookup, and what is done first."""
    rows = [(i["id"], i["kind"], i["key"], i["window"], i["lookup"], i["first"]) for i in data["items"]]
    table(console, ("entry", "kind", "key in", "a repeat is harmless", "lookup", "lost reply"), rows, empty="No entry.")


def entry_page(console: "Console", data: Any) -> None:
    """The contract in plain sentences, then the way out of a doubt, then what nobody knows and where it all comes from."""
    heading(console, f"{data['name']} ({data['id']}), version {data['api_version']}")
    sentence(console, f"kind {data['kind']}: {data['means']}; {data['confidence']}")
    for line in data["sentences"]:
        sentence(console, f"- {line}")
    heading(console, "in doubt")
    rows = [(s["moment"], s["ruling"], s["sentence"]) for s in data["plan"]]
    table(console, ("when", "what is done", "why"), rows, empty="")
    named = {
        "unknown": ", ".join(data["unknown_fields"]) or "nothing",
        "missing before a start": "; ".join(data["gaps"]),
    }
    fields(console, {name: said for name, said in named.items() if said})
    heading(console, "in the words of its texts")
    fields(console, data["facts"])


def check_table(console: "Console", data: Any) -> None:
    """One row for each contract that has something to say; then how many were looked at."""
    rows = [
        (item["id"], said)
        for item in data["items"]
        for said in (*item["contradictions"], *(f"nothing reads {name}" for name in item["unread_fields"]))
    ]
    table(console, ("contract", "what is wrong"), rows, empty="Nothing contradicts itself, and everything is read.")
    missing = [item["id"] for item in data["items"] if item["gaps"]]
    sentence(console, f"{len(data['items'])} contracts")
    if missing:
        sentence(console, f"need a word of your account before a start: {', '.join(missing)}")


@receivers.command("list", data=f"{{items:[{LISTED}], next_cursor}}", shows=entry_table)
def list_entries(
    invocation: Invocation,
    kind: Annotated[str | None, typer.Option("--kind", metavar="LETTER", help="Only this kind, A to J.")] = None,
) -> Any:
    """Browse the catalogue: how each action of a real service lets a write be repeated or looked up."""
    from counterfoil.receivers.catalogue import entries
    from counterfoil.receivers.catalogue.entry import KINDS
    from counterfoil.receivers.catalogue.shown import listed

    del invocation
    if kind is not None and kind.upper() not in KINDS:
        raise Refused("usage", problem=f"--kind is one of {', '.join(KINDS)}")
    found = [listed(each) for each in entries() if kind is None or each.kind == kind.upper()]
    return {"items": found, "next_cursor": None}


@receivers.command("show", data=SHOWN, shows=entry_page)
def show_entry(invocation: Invocation, entry: Which) -> Any:
    """Say a contract in plain sentences: what a retry does, until when, what a 409 means, and what to do in doubt."""
    from counterfoil.receivers.catalogue import entry as read
    from counterfoil.receivers.catalogue.shown import shown

    del invocation
    return shown(read(entry))


@receivers.command("check", data=CHECKED, shows=check_table, also=(FOUND,))
def check(
    invocation: Invocation,
    entry: Annotated[
        str | None, typer.Argument(metavar="ENTRY", help="An entry, or FILE.toml; left out: what your code uses.")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="All of the catalogue.")] = False,
    overrides: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help='What your account knows better, in TOML: `"key.account_retention" = "3 days"`.'
        ),
    ] = None,
) -> Any:
    """Check that a contract loads, contradicts nothing and says nothing that no rule reads. Status 1 if one does.

    Without ENTRY and --all: the contracts of your own operations, with everything that your code overrides.
    """
    from counterfoil.receivers.catalogue import ids
    from counterfoil.receivers.catalogue.checking import check_contract, check_entry, check_file

    if every and entry is not None:
        raise Refused("usage", problem="name an ENTRY or --all, not both")
    if overrides is not None and entry is None:
        raise Refused("usage", problem="--overrides needs the ENTRY that it is about")
    if every:
        items = [check_entry(each) for each in ids()]
    elif entry is not None:
        checked = check_file if entry.endswith(OWN) else check_entry
        items = [checked(entry, overrides_of(overrides))]
    else:
        registered = invocation.with_code().registry.operations.values()
        items = [check_contract(each.name, each.contract) for each in registered]
    wrong = any(not item["loads"] or item["contradictions"] or item["unread_fields"] for item in items)
    return Answer({"items": items, "next_cursor": None}, FOUND if wrong else 0)


def overrides_of(file: str | None) -> dict[str, Any] | None:
    """`[table]` or dotted names, as one level of paths."""
    if file is None:
        return None
    import tomllib

    from counterfoil.cli.documents import read_bytes

    try:
        read: dict[str, Any] = tomllib.loads(read_bytes(file, what="the overrides").decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise Refused("usage", problem=f"{file} cannot be read: {problem}") from problem
    found: dict[str, Any] = {}
    for name, value in read.items():
        inner = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        found |= {f"{name}.{below}": held for below, held in inner.items()} or {name: value}
    return found
