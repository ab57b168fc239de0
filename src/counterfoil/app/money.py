"""The noun `money`: what a day came to, and a provider's statement held against our record."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from counterfoil.app.access.actor import Actor, proven
from counterfoil.app.statement_import import Imported, hold
from counterfoil.app.views.moments import rfc3339
from counterfoil.app.views.money import imported_view, kept_import_view
from counterfoil.engine.opened import Opened
from counterfoil.engine.statements import FinishImport
from counterfoil.model import ids
from counterfoil.model.errors import Refused
from counterfoil.model.operation import OperationRecord
from counterfoil.model.statement import ImportRecord, StatementLineRecord
from counterfoil.rules.statement_lines import Reading, read_statement
from counterfoil.store.port import Sum

KINDS = ("approved", "succeeded", "failed", "unknown")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MoneyNoun:
    """`app.money`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def report(self, *, day: str | None = None, zone: str = "UTC") -> dict[str, Any]:
        """`{day, zone, begins_at, ends_at, items: [{receiver, operation, currency, approved, succeeded, failed, unknown}]}`.

        Each of the four is `{count, minor}`; `minor` and `currency` are null where the payload marks no amount. A day runs
        from midnight to midnight in `zone`. Counted once for each operation: approved when its approval was decided that
        day, succeeded or failed when it was closed that day, unknown when it was first sent that day and is in doubt now.
        Raises Refused(usage).
        """
        opened = self._opened()
        begin, end, named = _day(day, zone, opened.clock.now_us())
        with opened.read() as reader:
            sums = reader.lists.sums(begin, end)
        items = [
            {"receiver": receiver, "operation": operation, "currency": currency} | counted
            for (receiver, operation, currency), counted in sorted(_by_place(sums).items(), key=_order)
        ]
        times = {"begins_at": rfc3339(begin), "ends_at": rfc3339(end)}
        return {"day": named, "zone": zone, **times, "items": items}

    def imports(self) -> dict[str, Any]:
        """`{items: [IMPORT], next_cursor: None}`: the statements that were imported, the newest first."""
        with self._opened().read() as reader:
            found = [kept_import_view(record) for record in reader.rows(ImportRecord)]
        return {"items": found[::-1], "next_cursor": None}

    async def reconcile(
        self,
        content: bytes,
        *,
        name: str,
        receiver: str,
        by: Actor | str,
        secret: str = "",
        reading: Reading | None = None,
        within: timedelta = timedelta(hours=24),
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """Hold a provider's statement against our record: resolve what it proves, and list what differs. STATEMENT.

        Nothing is guessed: two operations for one line, or two lines for one operation, are `several` and stay as they are.
        `within`: how long after a first send a line without a known reference may still be it. The same file again does
        nothing twice. Raises Refused(malformed_statement, usage, not_permitted).
        """
        opened = self._opened()
        # In a thread: a large file takes seconds, and the loop may carry a console, and a worker's heartbeat.
        statement = await asyncio.to_thread(read_statement, content, reading or Reading(), name=name)
        digest = ""
        with opened.read() as reader:
            person = proven(reader, by, secret)
            _check_receiver(opened, reader.lists.operations(receiver=receiver, limit=1).items, receiver)
        if not dry_run:
            digest = (await asyncio.to_thread(opened.artifacts.save, content, name=name)).digest
        import_id = ids.derived("imp", opened.installation_id, receiver, digest or "dry run")
        said = Imported(name, digest, receiver, person, within // timedelta(microseconds=1), dry_run)
        held = await hold(opened, statement, said)
        if not dry_run:
            rows = tuple(
                StatementLineRecord(
                    import_id, line.line, line.reference, line.minor, line.currency, line.begin,
                    result.operation_id, result.stored,
                )
                for line, result in held.results
            )  # fmt: skip
            counted = {kind: sum(row.result == kind for row in rows) for kind in ("matched", "resolved")}
            record = ImportRecord(
                import_id, receiver, name, digest, person, 0, len(rows), counted["matched"], counted["resolved"]
            )
            await opened.write(FinishImport(opened.installation_id, record, rows))
        return imported_view(None if dry_run else import_id, said, statement, held)


def _check_receiver(opened: Opened, known: Iterable[OperationRecord], receiver: str) -> None:
    if receiver not in opened.registry.receivers and not list(known):
        names = ", ".join(sorted(opened.registry.receivers)) or "none is declared here"
        raise Refused("usage", problem=f"there is no receiver {receiver!r}; there are {names}")


def _day(day: str | None, zone: str, now: int) -> tuple[int, int, str]:
    """Midnight to midnight, which is not always 24 hours."""
    try:
        place = UTC if zone == "UTC" else ZoneInfo(zone)  # UTC is known also where no time zones are installed
    except (KeyError, ValueError, OSError) as problem:
        raise Refused("usage", problem=f"there is no time zone {zone!r}") from problem
    try:
        begins = date.fromisoformat(day) if day else (_EPOCH + timedelta(microseconds=now)).astimezone(place).date()
        ends = begins + timedelta(days=1)
        first, last = (_instant(datetime(at.year, at.month, at.day, tzinfo=place)) for at in (begins, ends))
    except (ValueError, OverflowError) as problem:
        raise Refused("usage", problem=f"{day!r} is no day; write it as 2026-11-29") from problem
    return first, last, begins.isoformat()


def _instant(when: datetime) -> int:
    return (when.astimezone(UTC) - _EPOCH) // timedelta(microseconds=1)


Place = tuple[str, str, str | None]


def _by_place(sums: Iterable[Sum]) -> Mapping[Place, dict[str, Any]]:
    found: dict[Place, dict[str, Any]] = {}
    for each in sums:
        place = (each.receiver, each.operation, each.currency)
        nothing = None if each.currency is None else 0
        counted = found.setdefault(place, {kind: {"count": 0, "minor": nothing} for kind in KINDS})
        counted[each.what] = {"count": each.count, "minor": each.minor}
    return found


def _order(item: tuple[Place, Any]) -> tuple[str, str, str]:
    receiver, operation, currency = item[0]
    return receiver, operation, currency or ""
