"""How often somebody may try: in memory, per person and per address, by the clock that is passed in."""

from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field

from counterfoil.model.errors import Refused

REMEMBERED = 10_000  # names and addresses; the longest silent are forgotten first


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `tries` within `seconds`."""

    tries: int
    seconds: int


SIGN_IN = Limit(10, 60)
SIGN_IN_ADDRESS = Limit(30, 60)
ANSWER = Limit(60, 60)
ANSWER_ADDRESS = Limit(240, 60)


@dataclass(slots=True)
class Limits:
    """`boot_us` gives microseconds that never jump. One object per console."""

    boot_us: Callable[[], int]
    _tried: OrderedDict[tuple[str, str], deque[int]] = field(default_factory=lambda: OrderedDict())

    def sign_in(self, person: str, address: str) -> None:
        """Before a secret is looked at, right or wrong. Raises Refused(too_many).

        The address first: one that is refused must not make us forget other names by inventing new ones.
        """
        self.sign_in_from(address)
        self._take(("sign-in", f"person {person}"), SIGN_IN)

    def sign_in_from(self, address: str) -> None:
        """Before a provider is asked who it is: nobody is named yet. Raises Refused(too_many)."""
        self._take(("sign-in", f"address {address}"), SIGN_IN_ADDRESS)

    def answer(self, person: str, address: str) -> None:
        """Before an answer, a resolution or a bulk act. Raises Refused(too_many)."""
        self._take(("answer", f"person {person}"), ANSWER)
        self._take(("answer", f"address {address}"), ANSWER_ADDRESS)

    def _take(self, key: tuple[str, str], limit: Limit) -> None:
        now = self.boot_us()
        tried = self._tried.setdefault(key, deque())
        self._tried.move_to_end(key)
        while tried and tried[0] <= now - limit.seconds * 1_000_000:
            tried.popleft()
        if len(tried) >= limit.tries:
            wait_us = tried[0] + limit.seconds * 1_000_000 - now
            raise Refused("too_many", what=key[1].partition(" ")[0], seconds=-(-wait_us // 1_000_000))
        tried.append(now)
        while len(self._tried) > REMEMBERED:
            self._tried.popitem(last=False)
