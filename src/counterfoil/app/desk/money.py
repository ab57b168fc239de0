"""`desk.money`."""

from datetime import timedelta
from typing import Any

from counterfoil.app.desk.sight import Sight
from counterfoil.model.access import Act, RecordKind
from counterfoil.rules.permissions import Wish
from counterfoil.rules.statement_lines import Reading

_AMOUNTS = Wish(Act.READ, kind=RecordKind.PAYLOADS)
_KINDS = ("approved", "succeeded", "failed", "unknown")


class DeskMoney:
    """As `app.money`. Sums are over all runs: seen by whoever sees every run, or administers; amounts are of payloads."""

    def __init__(self, sight: Sight) -> None:
        self._sight = sight
        self._noun = sight.app.money

    def report(self, *, day: str | None = None, zone: str = "UTC") -> dict[str, Any]:
        """The day; no item for who sees only some workflows, no sum for who may not read payloads. Raises Refused(usage)."""
        report = self._noun.report(day=day, zone=zone)
        if not self._sight.sees_installation():
            return report | {"items": []}
        with self._sight.look() as look:
            if look.may(_AMOUNTS):
                return report
        return report | {"items": [_uncounted(item) for item in report["items"]]}

    def imports(self) -> dict[str, Any]:
        """`{items: [IMPORT], next_cursor}`; empty for who sees only some workflows."""
        return self._noun.imports() if self._sight.sees_installation() else {"items": [], "next_cursor": None}

    async def reconcile(
        self,
        content: bytes,
        *,
        name: str,
        receiver: str,
        reading: Reading | None = None,
        within: timedelta = timedelta(hours=24),
        dry_run: bool = False,
    ) -> dict[str, Any]:
        """STATEMENT, in the person's name; a dry run, too, tells what the record holds. Raises Refused(not_permitted)."""
        self._sight.must(Act.IMPORT_STATEMENT)
        return await self._noun.reconcile(
            content, name=name, receiver=receiver, by=self._sight.actor, reading=reading, within=within, dry_run=dry_run
        )


def _uncounted(item: dict[str, Any]) -> dict[str, Any]:
    return item | {kind: item[kind] | {"minor": None} for kind in _KINDS}
