"""Who acts on the application that every adapter is drilled with: one refund at one bank, with and without a review."""

import asyncio
from collections.abc import Callable
from typing import Any

from counterfoil import App, Unresolved
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.engine.administration import NewPerson
from counterfoil.examples.bank import Refund, app, refund, reviewed_refund
from counterfoil.testing.bench_child import place

__all__ = ["OPERATIONS", "Refund", "Say", "app"]

SECRET, SALT = "counted", "c0"
PEOPLE = tuple(NewPerson(name, ("approver", "desk"), hashed(SECRET, SALT)) for name in ("ana", "oscar"))
OPERATIONS = {"refund": refund, "reviewed_refund": reviewed_refund}

Say = Callable[[object], None]


def found(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Make the database and its people."""
    place(app, arguments, say)
    app.open(Founding(people=PEOPLE))
    app.close()


def approve(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Ana approves the one review that is open."""
    place(app, arguments, say)
    (review,) = app.reviews.list(state="open")["items"]
    asyncio.run(app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET))
    app.close()


def told_of_waiting(app: App) -> Callable[[], Any]:
    """Waits until the ledger has said that somebody must act."""
    loop, heard, perform = asyncio.get_running_loop(), asyncio.Event(), app.ledger.perform
    said: list[str] = []

    async def watched(*given: Any, **named: Any) -> Any:
        try:
            return await perform(*given, **named)
        except Unresolved as doubt:
            said.append(doubt.sentence)
            loop.call_soon_threadsafe(heard.set)
            raise

    async def waiting() -> str:
        await heard.wait()
        return said[0]

    app.ledger.perform = watched
    return waiting
