"""Workers: the processes that drive runs, what they hold and which code they run."""

from typing import Any

from fastapi import APIRouter, Request
from starlette.responses import Response

from counterfoil.console.pages.rendering import page
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/workers`."""
    router = APIRouter()

    @router.get("/workers")
    def workers(request: Request, at: AtDesk) -> Response:
        items: list[dict[str, Any]] = [worker | {"state": state_of(worker)} for worker in at.workers.list()["items"]]
        here = [worker for worker in items if worker["state"] not in ("stopped", "gone")]
        return page(
            request, "workers.html", desk=at, here=here, over=[w for w in items if w not in here][:20],
            may_quiet=hasattr(at.workers, "quiet"),
        )  # fmt: skip

    return router


def state_of(worker: dict[str, Any]) -> str:
    """stopped, gone, silent, draining, quiet or alive: the first that holds."""
    if worker["stopped_at"] is not None:
        return "stopped"
    if worker["gone"]:
        return "gone"
    if not worker["alive"]:
        return "silent"
    return "draining" if worker["draining"] else "quiet" if worker["quiet"] else "alive"
