"""File descriptors that say by being open that this very process lives. A child that the user's code forks must not hold them."""

import os
from contextlib import suppress

_ours: set[int] = set()


def only_here(descriptor: int) -> int:
    """Closed in every forked child, until `close`. Gives it back."""
    _ours.add(descriptor)
    return descriptor


def close(descriptor: int) -> None:
    """Close it; nothing is done where a fork has done so."""
    if descriptor in _ours:
        _ours.discard(descriptor)
        os.close(descriptor)


def _forget() -> None:
    for descriptor in tuple(_ours):
        with suppress(OSError):
            close(descriptor)


os.register_at_fork(after_in_child=_forget)
