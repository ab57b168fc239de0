"""How far a lookup walks a list. Behind that it says so: what was not looked at proves nothing."""

from collections.abc import Sequence
from typing import Any, TypeVar

from counterfoil.model.contract import Found, Seen

R = TypeVar("R")
MOST_PAGES = 50


class NotFarEnough(Exception):
    """The list goes on behind the last page that was read, and nothing of ours was on any of them."""


def pages() -> range:
    """The numbers of the pages that are read at most, from 1."""
    return range(1, MOST_PAGES + 1)


def cut(found: Sequence[Found[R]], what: str) -> Seen[Any]:
    """What a walk has seen that ended at its bound. Raises NotFarEnough where that is nothing."""
    if not found:
        raise NotFarEnough(f"could not look far enough: {what} go on behind {MOST_PAGES} pages")
    return Seen(found, complete=False)
