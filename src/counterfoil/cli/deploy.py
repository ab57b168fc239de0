"""`counterfoil deploy check` and `counterfoil versions`: what a deployment does to the runs that are open."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import sentence, table

if TYPE_CHECKING:
    from rich.console import Console

FOUND = 1
REHEARSED = (
    "{run_id, number, workflow, workflow_version, state, verdict: parks|fails|not_checked, reason, position, recorded, asked, "
    "sentence, ways_on}"
)
CHECKED = f"{{items:[{REHEARSED}], summary:{{open, checked, goes_on, parks, fails, not_checked}}}}"
VERSION = "{workflow, version, here, open_runs, states, workers, needed, sentence}"

deploy = group("deploy", "Before a deployment.")


def checked(console: "Console", data: Any) -> None:
    """What does not go on, and how it could."""
    rows = [
        (f"run-{i['number']}", i["workflow"], i["workflow_version"], i["verdict"], i["sentence"]) for i in data["items"]
    ]
    table(console, ("run", "workflow", "version", "verdict", "why"), rows, empty="Every run that was checked goes on.")
    for way in dict.fromkeys(way for item in data["items"] for way in item["ways_on"]):
        sentence(console, f"- {way}")
    summary = data["summary"]
    sentence(console, f"{summary['checked']} of {summary['open']} open runs were checked: {summary['goes_on']} go on.")


def versions_shown(console: "Console", data: Any) -> None:
    """One line each."""
    rows = [(i["workflow"], i["version"], i["open_runs"], len(i["workers"]), i["sentence"]) for i in data["items"]]
    table(console, ("workflow", "version", "open", "workers", ""), rows, empty="No workflow is known.")


@deploy.command("check", data=CHECKED, shows=checked, also=(FOUND,))
def check(
    invocation: Invocation,
    workflow: Annotated[str | None, typer.Option("--workflow", help="Only runs of this workflow.")] = None,
    sample: Annotated[
        int | None, typer.Option("--sample", min=1, metavar="N", help="At most so many runs of each version.")
    ] = None,
) -> Any:
    """Replay the open runs of a database, or of a copy, against the code at hand: what would park, and why. Nothing is
    written or sent. Exit 1 when a run would not go on, or could not be checked."""
    app = invocation.with_code()
    data = awaited(app.deployments.check(workflow=workflow, sample=sample))
    return Answer(data, FOUND if data["items"] else 0)


def add_to(root: Group) -> None:
    """Register the command that has no noun."""

    @root.command("versions", data=f"{{items:[{VERSION}], next_cursor}}", shows=versions_shown)
    def versions(invocation: Invocation) -> Any:
        """List the versions of workflows: which open runs need each, which workers have it, which can be retired."""
        return invocation.app().deployments.versions()
