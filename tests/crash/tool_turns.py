"""Turns of the agents whose tools say what they are."""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from counterfoil.model.conversation import Turn
from counterfoil.testing import Bench
from counterfoil.testing.children import Children
from tests.crash import tools
from tests.crash.turns import Played, Room


@asynccontextmanager
async def played(
    room: Room, forks: Children, agent: Any, script: list[Any], crash_at: str | None = None
) -> AsyncGenerator[Played]:
    """A submitted turn."""
    async with Bench(tools.app, room.folder, children=forks) as bench:
        run = await bench.submit(agent.workflow, Turn(text=json.dumps(script)), request_id="r-1", crash_at=crash_at)
        yield Played(room, bench, run)


def entries(turn: Played, kind: str) -> list[dict[str, Any]]:
    """What the journal says of this kind."""
    with turn.bench.app.open().read() as reader:
        return [json.loads(e.body)["data"] for e in reader.entries(turn.run.run_id) if e.kind == kind]
