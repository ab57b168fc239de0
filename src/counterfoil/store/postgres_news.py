"""Word of a commit, from one process to the others of its ledger, by NOTIFY. Only a hint: whoever misses it looks a little later."""

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import psycopg

from counterfoil.store.postgres_address import PostgresAddress
from counterfoil.store.postgres_connection import Connection, connect, text

EVERY_S = 0.02  # between two words that are sent or passed on, where there are many; the first few go at once
AT_ONCE = 4
AGAIN_S = 1.0  # until a lost connection is tried again
LAST_S = 1.0  # what a process that ends gives its last word


class News:
    """Tells others of commits from here, and who listens here of others'. A thread and a connection, once they are needed.

    Never in a batch's own transaction: NOTIFY there lines up the commits of the whole server. Nothing here raises.
    """

    def __init__(self, address: PostgresAddress, schema: str) -> None:
        self._address = address
        self._channel = f"counterfoil_{sha256(schema.encode()).hexdigest()[:16]}"
        self._listeners: set[Callable[[], None]] = set()
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._rouse: int | None = None
        self._pending = False  # a word is to go out
        self._word = False  # one is to be passed on
        self._left = AT_ONCE  # so many more may go at once

    def tell(self) -> None:
        """A batch was committed from here."""
        self._pending = True
        self._roused()

    def hear(self, told: Callable[[], None]) -> Callable[[], None]:
        """`told` is called, from a thread of its own, when another process may have committed. Gives what ends that.

        Once in the beginning too: what was committed before anybody listened was told to nobody.
        """
        self._listeners.add(told)
        self._word = True
        self._roused()
        return lambda: self._listeners.discard(told)

    def close(self) -> None:
        """The last word goes out first, if the server takes it soon."""
        self._closed.set()
        self._roused()
        if self._thread is not None:
            self._thread.join(LAST_S)

    def _roused(self) -> None:
        with self._lock:
            if self._thread is None and not self._closed.is_set():
                wake, self._rouse = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
                self._thread = threading.Thread(target=self._carry, args=(wake,), name="news of commits", daemon=True)
                self._thread.start()
            if self._rouse is not None:
                with suppress(BlockingIOError):  # full: it is roused already
                    os.write(self._rouse, b".")

    def _carry(self, wake: int) -> None:
        connection: Connection | None = None
        try:
            while self._pending or not self._closed.is_set():
                try:
                    connection = connection or self._listening()
                    self._exchange(connection, wake)
                except psycopg.Error:
                    if connection is not None:
                        connection.close()
                    connection = None
                    if self._closed.wait(AGAIN_S):
                        return
        finally:
            if connection is not None:
                connection.close()
            with self._lock:
                if self._rouse is not None:
                    os.close(self._rouse)
                os.close(wake)
                self._rouse = None

    def _listening(self) -> Connection:
        connection = connect(self._address)
        row = connection.execute("SELECT pg_backend_pid()").fetchone()
        own = connection.info.backend_pid
        connection.add_notify_handler(lambda notice: self._heard(notice.pid, own))
        # Behind a pooler the session is not ours: whoever gets it next would be told, and we would not.
        if row is not None and row[0] == own:
            connection.execute(text(f"LISTEN {self._channel}"))
        self._word = True
        return connection

    def _heard(self, pid: int, own: int) -> None:
        self._word = self._word or pid != own

    def _exchange(self, connection: Connection, wake: int) -> None:
        """Wait for one side or the other, then hand on what there is, both ways."""
        if self._left == 0:
            self._closed.wait(EVERY_S)
            self._left = 1
        pause = 0 if self._word or self._pending else None if self._left == AT_ONCE else EVERY_S
        ready, *_ = select.select([connection.fileno(), wake], [], [], pause)
        if not ready and pause:
            self._left += 1
            return
        self._left -= 1
        with suppress(BlockingIOError):
            while os.read(wake, 4096):
                pass
        if self._pending:
            self._pending = False
            # The word needs no flush: what it speaks of is on disk. The remark tells it from a batch, for whoever looks on.
            word = f"BEGIN; SET LOCAL synchronous_commit TO off; NOTIFY {self._channel}; COMMIT /* a word of it */"
            connection.execute(text(word))
        connection.pgconn.consume_input()
        while notice := connection.pgconn.notifies():
            self._heard(notice.be_pid, connection.info.backend_pid)
        if self._word:
            self._word = False
            for told in tuple(self._listeners):
                with suppress(RuntimeError):  # its event loop is over
                    told()
