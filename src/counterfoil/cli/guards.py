"""`counterfoil guards`: the protections that are taken away one at a time, to see whether the drills notice."""

from typing import TYPE_CHECKING, Any

from counterfoil.cli.command import Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import table

if TYPE_CHECKING:
    from rich.console import Console


def guard_table(console: "Console", data: Any) -> None:
    """Name, sentence, function."""
    rows = [(item["guard"], item["invariant"], item["where"]) for item in data["items"]]
    table(console, ("guard", "what it holds up", "where"), rows, empty="")


def guards(invocation: Invocation) -> Any:
    """Print every protection by name, with the rule that it serves and the function that it is."""
    from counterfoil.testing.guards import GUARDS

    del invocation
    return {"items": [{"guard": g.guard, "invariant": g.invariant, "where": g.where} for g in GUARDS.values()]}


def add_to(top: Group) -> None:
    """Add the command."""
    top.command("guards", data="{items:[{guard, invariant, where}]}", shows=guard_table)(guards)
