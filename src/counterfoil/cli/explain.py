"""`counterfoil explain` and `counterfoil boundaries`: what the code says, before anything runs."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.command import Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import fields, heading, sentence

if TYPE_CHECKING:
    from rich.console import Console

EXPLAINED = (
    "{target, items:[{operation, receiver, action, saved_decision, identity, business_key, review:{role, scope, expires_in}, "
    "guarantee, on_unknown, owner, procedure, storage_promise, sentences}]}"
)


def explained(console: "Console", data: Any) -> None:
    """Each operation in plain sentences, then its facts."""
    for each in data["items"]:
        heading(console, f"{each['operation']} → {each['receiver']}")
        for line in each["sentences"]:
            sentence(console, f"- {line}")
        fields(
            console,
            {
                name: value
                for name, value in each.items()
                if name not in {"sentences", "operation"} and not _nested(value)
            },
        )
    if not data["items"]:
        sentence(console, "It performs no operation.")


def _nested(value: Any) -> bool:
    return isinstance(value, dict | list)


def add_to(root: Group) -> None:
    """Register both commands."""

    @root.command("explain", data=EXPLAINED, shows=explained)
    def explain(
        invocation: Invocation,
        target: Annotated[
            str | None,
            typer.Argument(
                metavar="TARGET", help="A workflow or an operation, MODULE:NAME, or a folder; left out: all of it."
            ),
        ] = None,
    ) -> Any:
        """Say what each operation guarantees, and what happens in doubt, from the code alone."""
        from counterfoil.app.explain import explain
        from counterfoil.cli.targets import target_of

        app, name = target_of(invocation, target)
        return explain(app.registry, name)

    @root.command(
        "boundaries", data="{items:[{boundary, kind: commit|send|reply|flush, verb, row}]}", shows=pages.items
    )
    def boundaries(invocation: Invocation) -> Any:
        """List the named instants at which a crash is survivable and tested."""
        from counterfoil.engine.boundaries import BOUNDARIES

        del invocation
        return {
            "items": [{"boundary": b.name, "kind": b.kind, "verb": b.verb, "row": b.row} for b in BOUNDARIES],
            "next_cursor": None,
        }
