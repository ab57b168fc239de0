"""`/healthz`, `/readyz` and `/metrics`: for what supervises and measures us. No page, no session."""

from functools import partial

from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from counterfoil import settings
from counterfoil.app.metrics.exposition import exposition
from counterfoil.app.readiness import readiness
from counterfoil.console.addresses import is_local
from counterfoil.console.envelope import respond
from counterfoil.console.signed_in import desk
from counterfoil.console.state import console_of
from counterfoil.model.errors import Refused

router = APIRouter(include_in_schema=False)


@router.get("/healthz")
def healthz() -> Response:
    """The process is up and answers."""
    return respond({"ok": True})


@router.get("/readyz")
async def readyz(request: Request) -> Response:
    """Whether it may be given work: each condition by name. What stands against one is told to this machine only."""
    console = console_of(request)
    found = await readiness(console.app.open)
    checks = found["checks"]
    if not is_local(request):
        checks = [{"name": check["name"], "ok": check["ok"]} for check in checks]
    ready = found["ready"] and not console.closing.is_set()
    return respond({"ok": ready, "draining": console.closing.is_set(), "checks": checks}, 200 if ready else 503)


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """In the text format of Prometheus. On loopback without a token, unless COUNTERFOIL_METRICS is token."""
    asked = settings.value_of("COUNTERFOIL_METRICS") == "token"
    read = partial(exposition, console_of(request).app)
    if asked or not is_local(request):
        read = (await desk(request)).metrics.exposed
    content, media_type = await run_in_threadpool(read)
    return Response(content, headers={"Content-Type": media_type})


def check_metrics_setting() -> None:
    """Raises Refused(usage) for a value that would be taken for another."""
    text = settings.value_of("COUNTERFOIL_METRICS")
    if text not in ("loopback", "token"):
        raise Refused("usage", problem=f"COUNTERFOIL_METRICS is {text!r}, neither loopback nor token")
