"""Adopt what receivers list under our numbers since the restored head, and this ledger does not know."""

import asyncio
from dataclasses import dataclass, field
from typing import Any

from counterfoil.engine.adopting import Adopt
from counterfoil.engine.definitions import Operation
from counterfoil.engine.failures import said
from counterfoil.engine.listing import listed_since
from counterfoil.engine.opened import Opened
from counterfoil.model.errors import Refused
from counterfoil.store.port import StorageError

MINUTE_US = 60 * 1_000_000
BEFORE_US = 15 * MINUTE_US  # a receiver's clock is not ours: what is known already is passed over


@dataclass(slots=True)
class Adopted:
    """`problems`: by operation, why its receiver listed nothing, or not all. Asking again begins anew, and keeps nothing twice."""

    records: int = 0
    problems: dict[str, str] = field(default_factory=dict[str, str])
    unreachable: set[str] = field(default_factory=set[str])


async def adopt(opened: Opened, receiver: str | None, share: int) -> Adopted:
    """Every operation whose contract can list, one after the other, `share` stretches a minute at most."""
    installation = opened.installation()
    head_at = installation.restored_head_at
    since = (installation.created_at if head_at is None else head_at) - BEFORE_US
    done = Adopted()
    for name, operation in sorted(opened.registry.operations.items()):
        lookup = operation.contract.lookup
        if lookup is None or not callable(lookup.lists) or receiver not in (None, operation.receiver):
            continue
        try:
            await _adopt_of(opened, operation, since, share, done)
        except StorageError:
            raise  # this database, and not the receiver
        except Refused as refused:
            done.problems[name] = refused.message
        except Exception as failed:
            done.problems[name] = said(failed)
            done.unreachable.add(operation.receiver)
    return done


async def _adopt_of(opened: Opened, operation: Operation[Any, Any], since: int, share: int, done: Adopted) -> None:
    began, stretches = opened.clock.now_us(), 0
    async for records in listed_since(opened, operation, since):
        if records:
            done.records += await opened.write(
                Adopt(opened.installation_id, operation.receiver, operation.name, records)
            )
        stretches += 1
        if stretches % share == 0:
            await opened.clock.wait(asyncio.Event(), began + stretches // share * MINUTE_US)
