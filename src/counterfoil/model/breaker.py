"""When a receiver that does not work is left alone for a while, by itself."""

from dataclasses import KW_ONLY, dataclass
from datetime import timedelta


@dataclass(frozen=True, slots=True)
class Breaker:
    """After `failures` attempts in a row without an answer that can be used, nothing is sent for `pause`.

    Then one attempt tries. If it fails too, the pause is twice as long, up to `longest`. It counts over all workers.
    """

    failures: int = 5
    _: KW_ONLY
    pause: timedelta = timedelta(seconds=30)
    longest: timedelta = timedelta(minutes=10)

    def pause_us(self, opens: int) -> int:
        """How long the pause is that follows `opens` pauses in a row, in microseconds."""
        longest = self.longest // timedelta(microseconds=1)
        # Doubling ends early: after thirty doublings of a microsecond every pause is the longest.
        return min(self.pause // timedelta(microseconds=1) << min(opens, 30), longest)
