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
    "guarantee, on_unknown, owner, procedure, storage_promise, sentences}], tools:[{agent, tool, kind: "
    "safe|run|operation|agent|resolve|undeclared|trusted|untrusted|dynamic, review, sentence}]}"
)


def explained(console: "Console", data: Any) -> None:
    """What a crash does with each tool of an agent; each operation in plain sentences, then its facts."""
    for agent in dict.fromkeys(each["agent"] for each in data["tools"]):
        heading(console, f"The tools of {agent}")
        for each in data["tools"]:
            if each["agent"] == agent:
                sentence(console, f"- {each['tool']}: {each['sentence']}")
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
    if not data["items"] and not data["tools"]:
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
        """Say what each operation guarantees, and what a crash does with each tool of an agent, from the code alone."""
        from counterfoil.cli.targets import target_of

        app, name = target_of(invocation, target)
        return app.explain(name)

    @root.command(
        "boundaries",
        data="{items:[{boundary, kind: commit|send|reply|flush, verb, row}], next_cursor}",
        shows=pages.items,
    )
    def boundaries(
        invocation: Invocation,
        target: Annotated[
            str | None,
            typer.Argument(metavar="TARGET", help="A workflow or an operation: those that its code can pass."),
        ] = None,
    ) -> Any:
        """List the named instants at which a crash is survivable and tested; with TARGET, as far as its code shows."""
        from counterfoil.engine.boundaries import BOUNDARIES

        passed = None if target is None else _passed(invocation, target)
        shown = [each for each in BOUNDARIES if passed is None or each.name in passed]
        items = [{"boundary": each.name, "kind": each.kind, "verb": each.verb, "row": each.row} for each in shown]
        return {"items": items, "next_cursor": None}


def _passed(invocation: Invocation, target: str) -> frozenset[str] | None:
    from counterfoil.cli.passed import passed_by
    from counterfoil.cli.targets import target_of

    app, name = target_of(invocation, target)
    passed = passed_by(app, name)
    if passed is None:
        invocation.warn(
            "boundaries_unknown", "The code does not show which boundaries it passes; all of them are listed."
        )
    return passed
