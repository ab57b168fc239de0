"""Operations over HTTP."""

from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.operation import Operation
from counterfoil.console.api.base64 import bytes_of
from counterfoil.console.api.bodies import Resolving
from counterfoil.console.api.cursors import opaque, opened
from counterfoil.console.api.described import Cursor, Limit, Which, gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk, count_answer

router = router_of("operations")

Status = Annotated[str | None, Query(max_length=20, description="prepared, in_flight, succeeded, failed, unknown.")]


@router.get("/operations", responses=gives(Answer[Page[Operation]]))
def list_operations(
    at: AtDesk,
    status: Status = None,
    receiver: Annotated[str | None, Query(max_length=200)] = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> Response:
    """List operations, newest first."""
    page = at.operations.list(status=status, receiver=receiver, cursor=opened("operations", cursor), limit=limit)
    return answer("operations list", opaque("operations", page))


@router.get("/operations/{operation}", responses=gives(Answer[Operation]))
def show_operation(at: AtDesk, operation: Which) -> Response:
    """Show an operation, with its attempts, receipts, approval, case and next action."""
    return answer("operations show", at.operations.show(operation))


@router.post("/operations/{operation}/lookup", responses=gives(Answer[Operation]))
async def look_up(at: AtDesk, operation: Which) -> Response:
    """Ask the receiver now, and rule on what it shows. The operation as it is then."""
    return answer("operations lookup", await at.operations.lookup(operation))


@router.post("/operations/{operation}/resolve", responses=gives(Answer[Operation]))
async def resolve_operation(request: Request, at: AtDesk, operation: Which, body: Resolving) -> Response:
    """Close a doubt with a reason and evidence. Refused if the operation moved since the version that was seen."""
    count_answer(request, at.actor)
    data = await at.operations.resolve(
        operation, as_=body.as_, reason=body.reason, evidence=bytes_of(body.evidence, "evidence"), expect_version=body.expect_version,
        evidence_name=body.evidence_name, reference=body.reference, new_key=body.new_key,
    )  # fmt: skip
    return answer("operations resolve", data)
