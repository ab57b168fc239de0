"""Being told that another process committed, where a backend can tell."""

from collections.abc import Callable
from typing import Protocol


class Hearing(Protocol):
    """What can be listened to."""

    def hear(self, told: Callable[[], None]) -> Callable[[], None]:
        """`told` is called, from any thread, when another process may have committed. Gives what ends that.

        A hint, which a backend may give late or never: whoever must know looks at `data_version` now and then.
        """
        ...
