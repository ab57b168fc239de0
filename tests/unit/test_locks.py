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


def test_another_boot_of_this_machine_is_proven_by_the_lock_that_it_has_left(
    free: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the boot: a stable name and an id that an image brings are the same on another node, where the sender lives."""
    monkeypatch.setattr(clock, "machine_id", lambda: "baked")
    elsewhere = tmp_path / "the state folder of that node"
    assert not holder_is_gone(elsewhere, Sent(host_name(), "baked.the boot of another node"))
    assert holder_is_gone(free, Sent(host_name(), "baked.an earlier boot"))


@pytest.mark.parametrize("stored", ["another boot", "there.another boot"])
def test_without_a_machine_id_a_lock_speaks_for_this_boot_alone(
    free: Path, stored: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A volume that was attached to another node brings free locks of senders that live where it was."""
    monkeypatch.setattr(clock, "machine_id", lambda: "")
    assert not holder_is_gone(free, Sent(host_name(), stored))
    assert holder_is_gone(free, Sent(host_name(), boot_id()))
    assert holder_is_gone(free, Sent(host_name(), f"baked.{boot_id()}")), "as a release before stored it"


def test_what_was_stored_before_machines_were_named_is_proven_within_its_boot(
    free: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "machine_id", lambda: "")
    alone = boot_id()
    monkeypatch.setattr(clock, "machine_id", lambda: "here")
    assert holder_is_gone(free, Sent(host_name(), alone))
    assert not holder_is_gone(free, Sent(host_name(), "a boot alone"))


def test_a_container_has_no_machine_id(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its image brings one along. What tells is the kernel: the namespaces of the machine itself have fixed numbers."""
    for kind in ("pid", "uts"):
        (tmp_path / kind).touch()
    assert clock.contained(tmp_path)
    assert not clock.contained(tmp_path / "a system without namespaces")
    monkeypatch.setattr(clock, "contained", lambda: True)
    assert clock.machine_id.__wrapped__() == ""


def test_the_machine_is_named_by_the_system_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "machine_id", lambda: "m1")
    assert machine_of(boot_id()) == "m1"
    monkeypatch.setattr(clock, "machine_id", lambda: "")
    assert machine_of(boot_id()) == ""
