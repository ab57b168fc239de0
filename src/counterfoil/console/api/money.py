"""Money over HTTP: what a day came to, and a provider's statement."""

from datetime import timedelta
from typing import Annotated

from fastapi import Query, Request
from starlette.responses import Response

from counterfoil.client.shapes.base import Answer, Page
from counterfoil.client.shapes.money import Report, Statement, StatementImport
from counterfoil.console.api.base64 import bytes_of
from counterfoil.console.api.bodies import Importing
from counterfoil.console.api.described import gives, router_of
from counterfoil.console.envelope import answer
from counterfoil.console.signed_in import AtDesk, count_answer
from counterfoil.rules.statement_lines import Reading

router = router_of("money")


@router.get("/report", responses=gives(Answer[Report]))
def report(
    at: AtDesk,
    day: Annotated[str | None, Query(max_length=10, description="YYYY-MM-DD; today without it.")] = None,
    zone: Annotated[str, Query(min_length=1, max_length=60, description="A time zone's name.")] = "UTC",
) -> Response:
    """Say what a day came to: per receiver, operation and currency what was approved, succeeded, failed and is unknown."""
    return answer("report", at.money.report(day=day, zone=zone))


@router.get("/statements", responses=gives(Answer[Page[StatementImport]]))
def list_statements(at: AtDesk) -> Response:
    """List the statements that were imported, the newest first."""
    return answer("statements list", at.money.imports())


@router.post("/statements/import", responses=gives(Answer[Statement]))
async def import_statement(request: Request, at: AtDesk, body: Importing) -> Response:
    """Hold a provider's statement against the record: resolve what it proves, list what differs. `dry_run` only looks."""
    count_answer(request, at.actor)
    reading = Reading(
        columns={**body.columns}, minor=body.minor, currency=body.currency,
        negative=body.negative,
    )  # fmt: skip
    data = await at.money.reconcile(
        bytes_of(body.content, "content"), name=body.name, receiver=body.receiver, reading=reading,
        within=timedelta(hours=body.hours), dry_run=body.dry_run,
    )  # fmt: skip
    return answer("reconcile import", data)
