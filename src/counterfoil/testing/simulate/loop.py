"""The event loop of one simulated process: simulated time, no thread, and turns that the world runs one at a time."""

import asyncio
import heapq
import math
from collections import deque
from collections.abc import Callable, Coroutine
from concurrent.futures import Executor
from contextvars import Context, copy_context
from itertools import count
from typing import Any, TypeVar, cast

T = TypeVar("T")


class Turn:
    """A callback that waits for its turn. What the event loop gives as a handle."""

    __slots__ = ("_args", "_callback", "_context", "_is_over", "due_us")

    def __init__(
        self, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None, due_us: int
    ) -> None:
        self._callback = callback
        self._args = args
        self._context = context or copy_context()
        self._is_over = False
        self.due_us = due_us

    def cancel(self) -> None:
        """It never gets its turn."""
        self._is_over = True

    def cancelled(self) -> bool:
        """Whether it was cancelled, or has had its turn."""
        return self._is_over

    def when(self) -> float:
        """Seconds, as the loop's clock counts them."""
        return self.due_us / 1_000_000

    def run(self) -> None:
        """Take the turn."""
        self._is_over = True
        self._context.run(self._callback, *self._args)


class Turns(asyncio.AbstractEventLoop):
    """Within one process callbacks keep their order, as in any event loop; which process goes next is the world's to say.

    `owner` is whose loop it is: from the running loop everybody finds the process that runs. `now_us` is the world's clock.
    """

    def __init__(self, owner: Any, now_us: Callable[[], int], failed: Callable[[BaseException], None]) -> None:
        self.owner = owner
        self._now_us = now_us
        self._failed = failed
        self._ready: deque[Turn] = deque()
        self._timers: list[tuple[int, int, Turn]] = []
        self._looks: list[Turn] = []
        self._number = count()

    @property
    def ready(self) -> bool:
        """Whether something waits for its turn now."""
        while self._ready and self._ready[0].cancelled():
            self._ready.popleft()
        return bool(self._ready)

    def next_at(self, reason_us: int | None) -> int | None:
        """When its next timer is due. A look is due when it was asked for and there is a reason to, not before `reason_us`."""
        while self._timers and self._timers[0][2].cancelled():
            heapq.heappop(self._timers)
        timer = self._timers[0][0] if self._timers else None
        self._looks = [look for look in self._looks if not look.cancelled()]
        if self._looks and reason_us is not None:
            look = max(min(look.due_us for look in self._looks), reason_us)
            return look if timer is None else min(timer, look)
        return timer

    def wake_due(self, reason_us: int | None) -> None:
        """What is due now waits for its turn, in the order in which it was due."""
        now = self._now_us()
        while self._timers and self._timers[0][0] <= now:
            self._ready.append(heapq.heappop(self._timers)[2])
        if reason_us is not None and reason_us <= now:
            self._ready += [look for look in self._looks if look.due_us <= now and not look.cancelled()]
            self._looks = [look for look in self._looks if look.due_us > now]

    def turn(self) -> None:
        """One callback. What it raises is told to the process, as an event loop would log it."""
        turn = self._ready.popleft()
        if turn.cancelled():
            return
        before = asyncio._get_running_loop()  # pyright: ignore[reportPrivateUsage]
        asyncio._set_running_loop(self)  # pyright: ignore[reportPrivateUsage]
        try:
            turn.run()
        except BaseException as problem:
            self._failed(problem)
        finally:
            asyncio._set_running_loop(before)  # pyright: ignore[reportPrivateUsage]

    def look_at(self, due_us: int, callback: Callable[[], object]) -> Turn:
        """A timer for a look at what others did, at the earliest then: a look for which nobody gave a reason is left out."""
        look = Turn(callback, (), None, due_us)
        self._looks.append(look)
        return look

    def time(self) -> float:
        return self._now_us() / 1_000_000

    def call_in(
        self, delay_us: int, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Turn:
        """After so many microseconds."""
        return self._timer(self._now_us() + max(0, delay_us), callback, args, context)

    def _timer(
        self, due_us: int, callback: Callable[..., object], args: tuple[Any, ...], context: Context | None
    ) -> Turn:
        turn = Turn(callback, args, context, due_us)
        heapq.heappush(self._timers, (due_us, next(self._number), turn))
        return turn


class SimulatedLoop(Turns):
    """What asyncio asks of an event loop."""

    def call_soon(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
        turn = Turn(callback, args, context, self._now_us())
        self._ready.append(turn)
        return turn

    def call_soon_threadsafe(self, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
        return self.call_soon(callback, *args, context=context)

    def call_later(
        self, delay: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> Any:
        return self.call_in(math.ceil(delay * 1_000_000 - 1e-3), callback, *args, context=context)

    def call_at(self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None) -> Any:
        return self._timer(math.ceil(when * 1_000_000 - 1e-3), callback, args, context)

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Any, **named: Any) -> asyncio.Task[Any]:
        part: asyncio.Task[Any] = asyncio.Task(cast("Coroutine[Any, Any, Any]", coro), loop=self, **named)
        # Whoever dies here leaves its parts behind, as a process does: that is no mistake to be told of.
        part._log_destroy_pending = False  # type: ignore[attr-defined]
        return part

    def run_in_executor(self, executor: Executor | None, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:  # type: ignore[override]
        """What a thread would do, in a turn of its own."""
        del executor
        future: asyncio.Future[T] = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except BaseException as problem:
                if not future.done():
                    future.set_exception(problem)
            else:
                if not future.done():
                    future.set_result(result)

        self.call_soon(call)
        return future

    def get_debug(self) -> bool:
        return False

    def is_running(self) -> bool:
        return True

    def is_closed(self) -> bool:
        return False

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        problem = context.get("exception")
        if isinstance(problem, BaseException):
            self._failed(problem)
