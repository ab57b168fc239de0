"""Commands that only look: `find`, `workers`, `duties`, `settings`, `errors`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Group, group
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.operations import Person, SecretFile
from counterfoil.cli.prompts import asked, secret_of
from counterfoil.cli.writes import Reason

workers = group("workers", "Who drives runs.")
WORKER = (
    "{worker_id, host, pid, versions, queues, started_at, seen_at, draining, quiet, stopped_at, gone, alive, holds}"
)
Which = Annotated[str, typer.Argument(metavar="WORKER", help="An id, or a unique start of it.")]


@workers.command("list", data=f"{{items:[{WORKER}], next_cursor}}", shows=pages.workers)
def list_workers(invocation: Invocation) -> Any:
    """List worker processes, the newest first. `gone`: its lock is free, so it is dead for certain."""
    return invocation.app().workers.list()


@workers.command("quiet", data=WORKER, shows=pages.record)
def quiet(invocation: Invocation, worker: Which, by: Person = None, reason: Reason = None) -> Any:
    """It takes up nothing more and hands over what it drives; its process stays. Stopping takes a name and no secret."""
    app = invocation.app()
    app.open()
    why = asked(invocation, reason, "--reason", "Why")
    return awaited(app.workers.quiet(worker, by=asked(invocation, by, "--by", "Who are you"), reason=why))


@workers.command("wake", data=WORKER, shows=pages.record)
def wake(
    invocation: Invocation, worker: Which, by: Person = None, secret_file: SecretFile = None, reason: str = ""
) -> Any:
    """It takes up runs again."""
    app = invocation.app()
    app.open()
    person = asked(invocation, by, "--by", "Who are you")
    secret = secret_of(invocation, person, secret_file)
    return awaited(app.workers.wake(worker, by=person, secret=secret, reason=reason))


duties = group("duties", "What the installation does by itself.")
DUTY = "{name, about, every_seconds, holder, lease_until, started_at, succeeded_at, next_at, problem, late}"


@duties.command("list", data=f"{{items:[{DUTY}], next_cursor}}", shows=pages.duties)
def list_duties(invocation: Invocation) -> Any:
    """List the duties with their last success. `late`: nobody has carried it out for three of its intervals."""
    return invocation.app().duties.list()


def add_to(root: Group) -> None:
    """Register the commands that have no noun."""

    @root.command("find", data="{items:[{kind, id, number, title, run_id, matched}], next_cursor}", shows=pages.items)
    def find(
        invocation: Invocation,
        text: Annotated[
            str,
            typer.Argument(
                metavar="TEXT",
                help="An id, its start, a number, a key, a reference, a request id, a target, a conversation, a person.",
            ),
        ],
    ) -> Any:
        """Find whatever a text may mean."""
        return invocation.app().find(text)

    @root.command(
        "settings",
        data="{items:[{name, value, origin: default|environment|file|argument, about}], next_cursor}",
        shows=pages.items,
    )
    def settings(invocation: Invocation) -> Any:
        """Show every setting in force, and where it came from. Secrets are shown as set or not set."""
        from counterfoil.settings import in_force

        found = in_force(database=invocation.db)
        items = [{"name": s.name, "value": s.value, "origin": s.origin, "about": s.about} for s in found]
        for each in items:
            if each["name"] == "COUNTERFOIL_APP":
                _where_the_app_is_named(invocation, each)
        return {"items": items, "next_cursor": None}

    @root.command("errors", data="{items:[{code, message, safe_next, exit}], next_cursor}", shows=pages.items)
    def errors(invocation: Invocation) -> Any:
        """List every error code, what it says, and what is safe to do next."""
        from counterfoil.model.error_codes import CODES

        del invocation
        items = [
            {"code": e.code, "message": e.message, "safe_next": e.safe_next, "exit": e.exit_status}
            for e in CODES.values()
        ]
        return {"items": items, "next_cursor": None}


def _where_the_app_is_named(invocation: Invocation, setting: dict[str, str]) -> None:
    named = invocation.named()
    if invocation.target is not None:
        setting["origin"] = "argument"
    elif setting["origin"] == "default" and named:
        setting["origin"] = "file"
    setting["value"] = named or ""
