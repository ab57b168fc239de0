"""The lock of a process says whether that very process lives, whatever it has forked."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from counterfoil.engine import clock, descriptors
from counterfoil.engine.clock import boot_id, host_name, machine_of
from counterfoil.engine.locks import ProcessLock, holder_is_gone, lock_is_free


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


@dataclass(frozen=True, slots=True)
class Sent:
    """What an attempt says of its process."""

    host: str
    boot_id: str
    worker_id: str = "wrk_1"


@pytest.fixture
def free(tmp_path: Path) -> Path:
    """A folder in which the lock of `wrk_1` is there and nobody holds it: it proves what the machine allows."""
    ProcessLock(tmp_path, "wrk_1").release()
    return tmp_path


def test_another_machine_of_the_same_name_is_never_proven_gone(free: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two live machines with one name have other boots, and may share the folder of locks."""
    monkeypatch.setattr(clock, "machine_id", lambda: "here")
    assert not holder_is_gone(free, Sent(host_name(), "there.boot"))
    assert not holder_is_gone(free, Sent("another", boot_id()))
    assert holder_is_gone(free, Sent(host_name(), "here.an earlier boot"))
    assert holder_is_gone(free, Sent(host_name(), boot_id()))


def test_without_a_machine_id_only_the_lock_proves_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "machine_id", lambda: "")
    other_boot = Sent(host_name(), "an earlier boot, or another machine's")
    assert not holder_is_gone(tmp_path, other_boot)
    ProcessLock(tmp_path, "wrk_1").release()
    assert holder_is_gone(tmp_path, other_boot)


def test_what_was_stored_before_machines_were_named_is_proven_by_its_lock(
    free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "machine_id", lambda: "here")
    assert holder_is_gone(free, Sent(host_name(), "a boot alone"))
    assert not holder_is_gone(tmp_path / "elsewhere", Sent(host_name(), "a boot alone"))


def test_the_machine_is_named_by_the_system_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "machine_id", lambda: "m1")
    assert machine_of(boot_id()) == "m1"
    monkeypatch.setattr(clock, "machine_id", lambda: "")
    assert machine_of(boot_id()) == ""
