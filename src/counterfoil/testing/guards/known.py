"""Every guard by name, in the order in which they are listed, and the two ways to be without one."""

from collections.abc import Generator
from contextlib import contextmanager

from counterfoil.model.errors import Refused
from counterfoil.testing.guards.authority import AUTHORITY
from counterfoil.testing.guards.guard import Guard, take_away
from counterfoil.testing.guards.memory import MEMORY
from counterfoil.testing.guards.sending import SENDING

_ORDER = (
    "key-reuse", "request-digest", "fence", "attempt-deadline", "payload-digest", "approval-recheck", "approval-single-use",
    "visibility-wait", "window-check", "business-key", "stop-check", "budget-check", "tombstone", "sender-gone",
    "lost-history",
)  # fmt: skip

GUARDS: dict[str, Guard] = dict(
    sorted(
        ((guard.guard, guard) for guard in (*SENDING, *AUTHORITY, *MEMORY)),
        key=lambda named: _ORDER.index(named[0]),
    )
)


@contextmanager
def without(name: str) -> Generator[None]:
    """Inside a `with`: this process without the guard; after it everything is as before. Raises Refused(not_found)."""
    bring_back = take_away(_known(name))
    try:
        yield
    finally:
        bring_back()


def remove(name: str) -> None:
    """For a child that is ended afterwards: without the guard from here on. Raises Refused(not_found)."""
    take_away(_known(name))


def _known(name: str) -> Guard:
    if name not in GUARDS:
        raise Refused("not_found", what="guard", id=name)
    return GUARDS[name]
