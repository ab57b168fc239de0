"""The lock of a process says whether that very process lives, whatever it has forked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from counterfoil.engine import descriptors
from counterfoil.engine.locks import ProcessLock, lock_is_free


@contextmanager
def forked() -> Iterator[None]:
    """While a child lives that this process has forked, as the user's code may: it began with our open files."""
    wait, end = os.pipe()
    ready, say = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(end)
        os.write(say, b"x")
        os.read(wait, 1)
        os._exit(0)
    os.close(wait)
    os.read(ready, 1)  # what is done in a child after a fork is done
    try:
        yield
    finally:
        os.close(end)
        os.waitpid(child, 0)
        os.close(ready)
        os.close(say)


def test_a_lock_is_free_as_soon_as_its_process_lets_go(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path, "wrk_1")
    assert not lock_is_free(tmp_path, "wrk_1")
    lock.release()
    assert lock_is_free(tmp_path, "wrk_1")


def test_a_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    lock = ProcessLock(tmp_path, "wrk_1")
    with forked():
        lock.release()  # as the system does when this process dies
        assert lock_is_free(tmp_path, "wrk_1")


def test_a_forked_child_does_not_hold_our_end_of_a_pipe() -> None:
    read, write = os.pipe()
    descriptors.only_here(write)
    os.set_blocking(read, False)
    with forked():
        descriptors.close(write)
        assert os.read(read, 1) == b"", "the pipe ends with us"
    os.close(read)
