"""`counterfoil metrics`."""

from typing import TYPE_CHECKING, Any

from counterfoil.cli.command import Group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import sentence, table

if TYPE_CHECKING:
    from rich.console import Console


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command("metrics", data="{items:[METRIC], next_cursor}", shows=shown)
    def metrics(invocation: Invocation) -> Any:
        """Show every metric: what it is now, what exactly it counts, and what it does not count."""
        return invocation.app().metrics.list()


def shown(console: "Console", data: Any) -> None:
    """A line for each series, then the definitions."""
    rows = [
        (
            each["name"],
            ", ".join(f"{name}={said}" for name, said in value["labels"].items()),
            _number(value),
            each["unit"],
        )
        for each in data["items"]
        for value in each["values"]
        if each["kind"] != "gauge" or value["value"] or not value["labels"]
    ]
    table(console, ("metric", "labels", "value", "unit"), rows, empty="")
    for each in data["items"]:
        sentence(console, f"{each['name']}: {each['definition']} Not counted: {each['does_not_count']}")


def _number(value: Any) -> str:
    if value["histogram"] is None:
        return f"{value['value']:g}"
    return f"{value['histogram']['count']} in {value['histogram']['sum']:.3f}"
