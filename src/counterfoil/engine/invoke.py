"""Call a user's function: async ones on the loop, plain ones in a thread that can reach the loop by `blocking`."""

import asyncio
import contextvars
import inspect
import os
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from counterfoil.engine.blocking import engine_loop


def _pool(name: str) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(max_workers=64, thread_name_prefix=f"counterfoil-{name}")


# A lookup that hangs keeps its thread for ever, and is asked again: it must not take the threads of steps.
_pools = {name: _pool(name) for name in ("user", "lookup")}


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    for name in _pools:
        _pools[name] = _pool(name)


os.register_at_fork(after_in_child=_forget)


async def invoke(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function's result. BaseExceptions that end an attempt pass through threads unharmed."""
    return await _invoke("user", function, args, kwargs)


async def invoke_lookup(function: Callable[..., Any], *args: Any) -> Any:
    """As `invoke`, in threads of its own kind. Cancelled, a plain function goes on in its thread, and nobody waits for it."""
    return await _invoke("lookup", function, args, {})


async def _invoke(pool: str, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if inspect.iscoroutinefunction(function):
        return await own_end(function(*args, **kwargs))
    context = contextvars.copy_context()
    loop = asyncio.get_running_loop()
    context.run(engine_loop.set, loop)
    result = await own_end(loop.run_in_executor(_pools[pool], lambda: context.run(_called, function, args, kwargs)))
    return await own_end(result) if inspect.isawaitable(result) else result


async def own_end(body: Awaitable[Any]) -> Any:
    """A cancellation that nobody asked of us is the function's own failure: it awaited something that was cancelled."""
    try:
        return await body
    except SystemExit as exit_:
        raise RuntimeError(f"the function asked the process to end: {exit_.code}") from exit_
    except asyncio.CancelledError as cancelled:
        current = asyncio.current_task()
        if current is None or current.cancelling():
            raise
        raise RuntimeError("the function awaited something that was cancelled") from cancelled


def _called(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    try:
        return function(*args, **kwargs)
    except StopIteration as stop:  # a future cannot carry it: whoever waits would wait for ever
        raise RuntimeError("the function raised StopIteration") from stop
