"""The noun `signals`: something from outside that wakes a run."""

from collections.abc import Callable
from typing import Any

from counterfoil.app.access.actor import Actor, named
from counterfoil.app.finding import known_id
from counterfoil.app.views.listing import listed
from counterfoil.app.views.moments import rfc3339
from counterfoil.engine.opened import Opened
from counterfoil.engine.waits import StoreSignal
from counterfoil.model.codec import BODY_LIMIT, compact, parsed
from counterfoil.model.conversation import SignalRecord
from counterfoil.model.errors import Refused
from counterfoil.store.port import Workflows


class Signals:
    """`app.signals`. (`app.signal` is the same act with a typed payload.)"""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    async def send(
        self, run: str, name: str, payload: Any, *, signal_id: str, by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Store a signal; it is matched later. `payload` is plain JSON. `{run_id, signal_id, admitted: new|existing}`.

        Raises Refused: signal_conflict (same id, other content), run_ended, not_found.
        """
        opened = self._opened()
        with opened.read() as reader:
            run_id = known_id(reader, "run", run)
        text = _stored(payload)
        if len(text) > BODY_LIMIT:
            raise Refused("too_large", what=f"The signal {name}", size=len(text), limit=BODY_LIMIT)
        admitted: str = await opened.write(StoreSignal(run_id, signal_id, name, text, named(by)))
        return {"run_id": run_id, "signal_id": signal_id, "name": name, "admitted": admitted}

    def list(
        self, *, run: str | None = None, workflows: Workflows = None, cursor: int | None = None, limit: int = 50
    ) -> dict[str, Any]:
        """`{items: [{run_id, signal_id, name, payload, payload_digest, at, taken_by}], next_cursor}`, newest first."""
        with self._opened().read() as reader:
            run_id = None if run is None else known_id(reader, "run", run)
            page = reader.lists.signals(run_id=run_id, workflows=workflows, before=cursor, limit=limit)
            return listed([_signal(signal) for signal in page.items], page.next_cursor)


def _stored(payload: Any) -> str:
    """Raises Refused(unserializable): JSON has no infinity and no NaN, whatever a parser lets through."""
    try:
        return compact(payload)
    except (TypeError, ValueError, RecursionError) as problem:
        raise Refused("unserializable", where="payload", problem=str(problem)) from problem


def _signal(signal: SignalRecord) -> dict[str, Any]:
    return {
        "run_id": signal.run_id, "signal_id": signal.signal_id, "name": signal.name, "payload": parsed(signal.payload),
        "payload_digest": signal.payload_digest, "at": rfc3339(signal.at), "taken_by": signal.taken_by,
    }  # fmt: skip
