"""Asking what may hang: a file system whose server is gone answers nothing, and nobody here waits for it for ever."""

from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Thread
from typing import TypeVar

from counterfoil.store.port import StorageError

T = TypeVar("T")


class Patience:
    """Each question has a thread of its own, which is left behind when it does not come back, and ends with the process.

    `what` hangs, as a person is told. `seconds`: how long it is waited for. While a question is out that was given up, the next
    is refused at once. May be used from several threads.
    """

    def __init__(self, what: str, seconds: float) -> None:
        self._what, self._seconds = what, seconds
        self._left: list[Thread] = []

    def ask(self, work: Callable[[], T]) -> T:
        """What `work` gives or raises. Raises StorageError(storage_failed) where it does not come back: it may still be done, late."""
        self._left = [thread for thread in self._left if thread.is_alive()]
        if self._left:
            raise self._hangs()
        answer: Future[T] = Future()
        context = copy_context()
        thread = Thread(target=context.run, args=(_answered, answer, work), name="counterfoil-asks", daemon=True)
        thread.start()
        thread.join(self._seconds)
        if thread.is_alive():
            self._left.append(thread)
            raise self._hangs()
        return answer.result()

    def _hangs(self) -> StorageError:
        return StorageError("storage_failed", problem=f"{self._what} has not answered within {self._seconds:g} s")


def _answered(answer: Future[T], work: Callable[[], T]) -> None:
    try:
        answer.set_result(work())
    except BaseException as problem:  # whatever it is: the one who asked is told, in its own thread
        answer.set_exception(problem)
