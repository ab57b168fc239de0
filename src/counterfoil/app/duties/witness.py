"""Duty: the heads of chains that grew are written outside, so that rewriting or cutting what came since is noticed."""

import asyncio
from typing import TYPE_CHECKING

from counterfoil.model.duty import DutyRecord
from counterfoil.store.marker import Head

if TYPE_CHECKING:
    from counterfoil.app.application import App

STRETCH = 20_000  # entries looked at in one step


async def witness(app: "App", duty: DutyRecord) -> int | None:
    """From where it came to the last time, to the newest entry. Without an outside place there is nothing to do."""
    opened = app.open()
    marker = opened.marker
    if marker is None:
        return None
    with opened.read() as reader:
        newest = reader.upkeep.newest_ordinal()
    done = min(duty.mark, newest)  # a restored database is shorter than it was
    while done < newest:
        upto = min(done + STRETCH, newest)
        with opened.read() as reader:
            heads = [Head(*head) for head in reader.upkeep.heads_since(done, upto)]
        await asyncio.to_thread(marker.append_heads, heads)  # a flush: the loop must not wait for it
        done = upto
    return done
