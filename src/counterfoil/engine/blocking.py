"""The only bridge from synchronous code to ours. There are no twins."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from contextvars import ContextVar
from typing import Any, TypeVar

from counterfoil.model.errors import Refused

T = TypeVar("T")

# The event loop of the engine that called this synchronous function in a thread, if one did.
engine_loop: ContextVar[asyncio.AbstractEventLoop | None] = ContextVar("engine_loop", default=None)

_own: asyncio.AbstractEventLoop | None = None
_lock = threading.Lock()


def blocking(body: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine to its end and give back its result. Raises Refused(blocking_in_loop) inside a running event loop."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        body.close()
        raise Refused("blocking_in_loop")
    loop = engine_loop.get() or _background_loop()
    return asyncio.run_coroutine_threadsafe(body, loop).result()


def _forget() -> None:
    """In a forked child the parent's loop has no thread: it gets one of its own at the first call."""
    global _own, _lock
    _own, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)


def _background_loop() -> asyncio.AbstractEventLoop:
    """One loop for all synchronous callers of this process, so that connections and locks belong to one loop."""
    global _own
    with _lock:
        if _own is None or _own.is_closed():
            _own = asyncio.new_event_loop()
            threading.Thread(target=_own.run_forever, name="counterfoil-blocking", daemon=True).start()
        return _own
