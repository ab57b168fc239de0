"""Who is asked to end by SIGTERM, as a build does it, cleans up as after Ctrl-C: nothing temporary stays."""

import signal
import threading
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def as_interrupted() -> Generator[None]:
    """In here SIGTERM raises KeyboardInterrupt. Elsewhere than in the main thread nothing can be set, and nothing is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
