"""Commands that only look: `find`, `workers list`, `settings`, `errors`."""

from typing import Annotated, Any

import typer

from counterfoil.cli import pages
from counterfoil.cli.command import Group, group
from counterfoil.cli.invocation import Invocation

workers = group("workers", "Who drives runs.")
WORKERS = "{items:[{worker_id, host, pid, versions, started_at, seen_at, draining, stopped_at, gone}], next_cursor}"


@workers.command("list", data=WORKERS, shows=pages.workers)
def list_workers(invocation: Invocation) -> Any:
    """List worker processes, the newest first. `gone`: its lock is free, so it is dead for certain."""
    from counterfoil.app.views.moments import rfc3339
    from counterfoil.engine.locks import holder_is_gone
    from counterfoil.model.codec import parsed

    opened = invocation.app().open()
    with opened.read() as reader:
        found = reader.lists.workers()
    items = [
        {
            "worker_id": w.worker_id, "host": w.host, "pid": w.pid, "versions": parsed(w.versions),
            "started_at": rfc3339(w.started_at), "seen_at": rfc3339(w.seen_at), "draining": bool(w.draining),
            "stopped_at": rfc3339(w.stopped_at), "gone": w.stopped_at is not None or holder_is_gone(opened.locks, w),
        }
        for w in found
    ]  # fmt: skip
    return {"items": items, "next_cursor": None}


def add_to(root: Group) -> None:
    """Register the commands that have no noun."""

    @root.command("find", data="{items:[{kind, id, number, run_id, matched}], next_cursor}", shows=pages.items)
    def find(
        invocation: Invocation,
        text: Annotated[
            str, typer.Argument(metavar="TEXT", help="An id, its start, a number, a key, a reference, a request id.")
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
