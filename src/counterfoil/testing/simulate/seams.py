"""What of the engine reaches outside, replaced for the length of a simulation: the wire, locks, the host, the writer's thread.

Nothing in the library knows of it: names are replaced from outside, in every module that holds them, and put back.
"""

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import counterfoil.app.driving
import counterfoil.app.duties.rounds
from counterfoil.engine import clock, locks, writer
from counterfoil.receivers import http
from counterfoil.rules import recovery
from counterfoil.testing.simulate.network import Network, client_through
from counterfoil.testing.simulate.world import World, here
from counterfoil.testing.simulate.writing import InlineWriter

_OURS = "counterfoil."
_SIMULATION = "counterfoil.testing.simulate"


class SimulatedLock:
    """Stands in for `engine.locks.ProcessLock`: held while its process lives."""

    def __init__(self, folder: Path, worker_id: str) -> None:
        del folder
        self._worker_id = worker_id
        self._world = here().world
        self._world.locks[worker_id] = here()

    def release(self) -> None:
        """Free, and still there: that proves the end."""
        self._world.locks[self._worker_id] = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lock_is_free(folder: Path, worker_id: str) -> bool:
    """Stands in for `engine.locks.lock_is_free`. A lock that is not there proves nothing."""
    del folder
    known = here().world.locks
    holder = known.get(worker_id)
    return worker_id in known and (holder is None or not holder.alive)


@contextmanager
def simulated(world: World, network: Network, cases: set[str]) -> Generator[None]:
    """Everything in the block belongs to this world. `cases` collects the letters that the recovery table ruled by."""
    ruled = recovery.rule

    def rule(facts: Any) -> Any:
        case, ruling = ruled(facts)
        cases.add(case.letter)
        return case, ruling

    replaced = [
        *_everywhere(clock.host_name, lambda: "host"),
        *_everywhere(clock.boot_id, lambda: f"machine.boot-{world.boot}"),
        *_everywhere(clock.process_id, lambda: here().number),
        *_everywhere(locks.ProcessLock, SimulatedLock),
        *_everywhere(locks.lock_is_free, lock_is_free),
        *_everywhere(writer.Writer, InlineWriter),
        *_everywhere(ruled, rule),
        *_everywhere(http._client, client_through(network)),  # pyright: ignore[reportPrivateUsage]
    ]
    try:
        for module, name, _, new in replaced:
            setattr(module, name, new)
        yield
    finally:
        for module, name, old, _ in reversed(replaced):
            setattr(module, name, old)


def _everywhere(old: Any, new: Any) -> list[tuple[Any, str, Any, Any]]:
    """Every place of the library, the simulation left out, that holds it: (module, name, old, new)."""
    modules = [
        module
        for name, module in list(sys.modules.items())
        if name.startswith(_OURS) and not name.startswith(_SIMULATION)
    ]
    return [(module, name, old, new) for module in modules for name, held in list(vars(module).items()) if held is old]


__all__ = ["SimulatedLock", "lock_is_free", "simulated"]
_LOADED = (counterfoil.app.driving, counterfoil.app.duties.rounds)  # what a process uses is there before it is replaced
