"""The faults: each disturbs one refund at one site, lets it recover, and says in one sentence what exactly was done."""

import signal
from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.peers.engines import Site
from counterfoil.testing.sandbox.contract import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess

REQUEST = "R-1001"
HELD_SECONDS = 60.0
KEY, LOOKUP = "key", "lookup"
WINDOW_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Fault:
    """`play` gives how many records were there before the refund that counts. `kinds`: the receivers it makes sense at."""

    name: str
    sentence: str
    play: Callable[[Site, SandboxProcess], int]
    kinds: tuple[str, ...] = (KEY, LOOKUP)
    key_seconds: float = 86_400.0


def receiver_of(kind: str, fault: Fault) -> SandboxContract:
    """`key`: it honours Idempotency-Key and shows nothing. `lookup`: it honours no key, and can be asked by reference."""
    if kind == KEY:
        return SandboxContract(kind=KEY, key_window_seconds=fault.key_seconds, lookup=False)
    return SandboxContract(kind=LOOKUP, key_header=None, lookup_by=frozenset({"reference"}))


def _killed(site: Site, receiver: SandboxProcess) -> None:
    receiver.fault("slow", seconds=HELD_SECONDS)
    child = site.life(REQUEST)
    receiver.wait(requests=1, seconds=HELD_SECONDS)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    receiver.release()


def _kill(site: Site, receiver: SandboxProcess) -> int:
    _killed(site, receiver)
    site.ends(REQUEST)
    return 0


def _at_the_receiver(fault: str) -> Callable[[Site, SandboxProcess], int]:
    def play(site: Site, receiver: SandboxProcess) -> int:
        receiver.fault(fault)
        site.ends(REQUEST)
        return 0

    return play


def _lookup_lags(site: Site, receiver: SandboxProcess) -> int:
    receiver.lag(3)
    return _kill(site, receiver)


def _key_window_over(site: Site, receiver: SandboxProcess) -> int:
    _killed(site, receiver)
    receiver.advance(WINDOW_SECONDS + 1)
    site.ends(REQUEST)
    return 0


def _key_store_lost(site: Site, receiver: SandboxProcess) -> int:
    _killed(site, receiver)
    receiver.forget_keys()
    site.ends(REQUEST)
    return 0


def _restored(site: Site, receiver: SandboxProcess) -> int:
    site.ends("R-1000")
    before = len(receiver.records())
    kept = site.backup()
    site.ends(REQUEST)
    site.restore(kept)
    site.ends(REQUEST)
    return before


def _frozen(site: Site, receiver: SandboxProcess) -> int:
    receiver.fault("slow", seconds=HELD_SECONDS)
    frozen = site.life(REQUEST)
    receiver.wait(requests=1, seconds=HELD_SECONDS)
    frozen.send_signal(signal.SIGSTOP)
    try:
        site.ends(REQUEST, lives=1)
    finally:
        receiver.release()
        frozen.send_signal(signal.SIGCONT)
        site.over(frozen)
    return 0


def _resubmitted(site: Site, receiver: SandboxProcess) -> int:
    site.ends(REQUEST)
    site.ends(REQUEST)
    return 0


def _two_at_once(site: Site, receiver: SandboxProcess) -> int:
    for each in [site.life(REQUEST), site.life(REQUEST)]:
        site.over(each)
    site.ends(REQUEST)
    return 0


FAULTS: tuple[Fault, ...] = (
    Fault("kill", "The receiver has accepted and holds its reply; the process gets SIGKILL; another one is started.", _kill),
    Fault("drop-reply", "The receiver accepts, and closes the connection without a reply, once.", _at_the_receiver("drop-reply")),
    Fault("error-after-accept", "The receiver accepts, and answers 500, once.", _at_the_receiver("error-after-accept")),
    Fault("hang", "The receiver accepts, and answers nothing for a minute, once.", _at_the_receiver("hang")),
    Fault("lookup-lags", "As kill, and lookups show a record three seconds after it was made.", _lookup_lags, (LOOKUP,)),
    Fault(
        "key-window-over", "As kill, and the key's window (2 s) is over before the other process is started.",
        _key_window_over, (KEY,), WINDOW_SECONDS,
    ),
    Fault("key-store-lost", "As kill, and the receiver forgets all its keys, against its contract.", _key_store_lost, (KEY,)),
    Fault(
        "restored", "A backup of the database is taken; the refund is made; the backup is restored; the same request comes again.",
        _restored,
    ),
    Fault(
        "frozen",
        "As kill, with SIGSTOP in place of SIGKILL: another process works on the same request until it ends, then SIGCONT.",
        _frozen,
    ),
    Fault("resubmitted", "The refund is made, and the same request comes again.", _resubmitted),
    Fault("two-at-once", "Two processes get the same request at the same time.", _two_at_once),
)  # fmt: skip
