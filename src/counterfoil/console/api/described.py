"""How an endpoint is described: its success, its refusals, and the parameters that many share."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query

from counterfoil.client.shapes.base import RefusalAnswer

# FastAPI's own description of a value that does not fit is left out where these stand.
REFUSALS: dict[int | str, dict[str, Any]] = {
    "4XX": {
        "model": RefusalAnswer,
        "description": "Refused; nothing was changed, unless `safe_next` says what was kept.",
    },
    "5XX": {"model": RefusalAnswer, "description": "The database or the code failed."},
}
LONGEST = 500

Which = Annotated[
    str, Path(min_length=1, max_length=LONGEST, description="An id, a unique start of it, or a number such as run-3.")
]
Cursor = Annotated[
    str | None, Query(max_length=2000, description="`next_cursor` of the part before; without it the list begins.")
]
Limit = Annotated[int, Query(ge=1, le=200, description="How many items at most.")]


def router_of(noun: str) -> APIRouter:
    """A router whose endpoints are described with their refusals."""
    return APIRouter(tags=[noun], responses=REFUSALS)


def gives(model: Any, status: int = 200, description: str = "Done.") -> dict[int | str, dict[str, Any]]:
    """`responses=` of an endpoint: what its success is."""
    return {status: {"model": model, "description": description}}
