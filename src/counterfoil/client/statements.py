"""`client.statements`: a provider's statement, held against the record."""

from base64 import b64encode
from collections.abc import Mapping

from counterfoil.client.calls import Calls
from counterfoil.client.shapes.base import Page
from counterfoil.client.shapes.money import Statement, StatementImport


class ClientStatements:
    """For whoever may import statements."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls

    async def list(self) -> Page[StatementImport]:
        """Those that were imported, the newest first."""
        return await self._calls.read("/statements", Page[StatementImport])

    async def reconcile(  # noqa: PLR0913 - each is a field of the request
        self,
        content: bytes,
        *,
        name: str,
        receiver: str,
        columns: Mapping[str, str] | None = None,
        minor: bool = False,
        negative: bool = False,
        currency: str | None = None,
        hours: int = 24,
        dry_run: bool = False,
    ) -> Statement:
        """Resolve what the statement proves, and list what differs. `dry_run` only looks.

        `content`: the file, CSV or JSON lines; `columns`: our name for a column to the file's. Amounts are decimal, or with
        `minor` in the smallest unit; `negative`: what we sent stands there with a minus. `hours`: how long after a first
        send a line may be it. Raises Refused: usage, unknown_receiver, not_permitted, own_action.
        """
        body = {
            "content": b64encode(content).decode(), "name": name, "receiver": receiver, "columns": dict(columns or {}),
            "minor": minor, "negative": negative, "currency": currency, "hours": hours, "dry_run": dry_run,
        }  # fmt: skip
        return await self._calls.act("/statements/import", Statement, body)
