"""Call a user's function: async ones on the loop, plain ones in a thread that can reach the loop by `blocking`."""

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from counterfoil.engine.blocking import engine_loop

_threads = ThreadPoolExecutor(max_workers=64, thread_name_prefix="counterfoil-user")


async def invoke(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The function's result. BaseExceptions that end an attempt pass through threads unharmed."""
    if inspect.iscoroutinefunction(function):
        return await function(*args, **kwargs)
    context = contextvars.copy_context()
    loop = asyncio.get_running_loop()
    context.run(engine_loop.set, loop)
    result = await loop.run_in_executor(_threads, lambda: context.run(function, *args, **kwargs))
    return await result if inspect.isawaitable(result) else result
