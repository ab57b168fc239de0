"""The end of a process in bounded time: the user's code may hang in a thread for ever, and an interpreter waits for its threads."""

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")
LEAVE_S = 2.0  # after everything is written and drained


class _Unwaited(ThreadPoolExecutor):
    """What `asyncio.to_thread` uses. The loop does not wait for its threads when it closes."""

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        del wait
        super().shutdown(wait=False, cancel_futures=cancel_futures)


def run_to_end(body: Coroutine[Any, Any, T]) -> T:
    """As `asyncio.run`; threads in which something hangs are not waited for."""

    async def whole() -> T:
        asyncio.get_running_loop().set_default_executor(_Unwaited(thread_name_prefix="counterfoil-loop"))
        return await body

    return asyncio.run(whole())


def leave(status: int) -> None:
    """This process has nothing left to do: it ends with this status, at once or a moment later whatever hangs."""
    guard = threading.Timer(LEAVE_S, os._exit, (status,))
    guard.daemon = True
    guard.start()
    raise SystemExit(status)
