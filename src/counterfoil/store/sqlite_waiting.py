"""Waiting for the write lock that another process holds."""

from threading import Event

import apsw

SHORT_S = 0.0005
LONG_S = 0.005


def wait_for_locks(connection: apsw.Connection, seconds: float) -> None:
    """Let a locked database be tried again for so many seconds, then be `apsw.BusyError`.

    SQLite's own waiting sleeps in steps that grow to 100 ms, whatever the lock does meanwhile. A batch of ours holds it for
    some milliseconds, and all runs of this process wait for the next one: two writers would mostly wait for sleepers. The
    pauses are counted, not measured, so that no clock that jumps can end the waiting.
    """
    never = Event()
    waited = 0.0

    def busy(calls: int) -> bool:
        nonlocal waited
        waited = 0.0 if calls == 0 else waited
        if waited >= seconds:
            return False
        pause = min(SHORT_S * (1 + calls // 40), LONG_S)
        never.wait(pause)
        waited += pause
        return True

    connection.set_busy_handler(busy)
