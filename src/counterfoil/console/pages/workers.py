"""Workers: the processes that drive runs, what they hold and which code they run."""

from typing import Annotated, Any

from fastapi import APIRouter, Form, Request
from starlette.responses import Response

from counterfoil.app.views.worker import state_of
from counterfoil.console.addresses import address
from counterfoil.console.pages.rendering import done, page
from counterfoil.console.signed_in import AtDesk


def routes() -> APIRouter:
    """`/workers`, `/workers/WORKER/quiet` and `/workers/WORKER/wake`."""
    router = APIRouter()

    @router.get("/workers")
    def workers(request: Request, at: AtDesk) -> Response:
        items: list[dict[str, Any]] = [worker | {"state": state_of(worker)} for worker in at.workers.list()["items"]]
        here = [worker for worker in items if worker["state"] not in ("stopped", "gone")]
        return page(
            request, "workers.html", desk=at, here=here, over=[w for w in items if w not in here][:20],
            duties=at.duties.list()["items"], acts=at.me()["acts"],
        )  # fmt: skip

    @router.post("/workers/{worker}/quiet")
    async def quiet(request: Request, at: AtDesk, worker: str, reason: Annotated[str, Form()] = "") -> Response:
        await at.workers.quiet(worker, reason=reason)
        return done(request, address(request, "/workers"), "It finishes what it holds, and takes up nothing more.")

    @router.post("/workers/{worker}/wake")
    async def wake(request: Request, at: AtDesk, worker: str) -> Response:
        await at.workers.wake(worker)
        return done(request, address(request, "/workers"), "It takes up runs again.")

    return router
