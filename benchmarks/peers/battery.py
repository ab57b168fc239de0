"""Play every fault on every engine, at a receiver with a key and at one without, and count what the receivers hold."""

import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks.peers.engines import Engine, site_of
from benchmarks.peers.faults import Fault, receiver_of
from counterfoil.testing.sandbox.process import SandboxProcess


@dataclass(frozen=True, slots=True)
class Row:
    """`records`: of this refund, at the receiver. `state`: what the last life said of it. `problem`: why there is no figure."""

    fault: str
    receiver: str
    engine: str
    records: int | None
    state: str
    requests: int
    problem: str | None = None


Case = tuple[Fault, str, Engine]


def played(cases: Sequence[Case], at_once: int, told: Callable[[Row], None]) -> list[Row]:
    """In the order of the cases. A case that could not be played is a row with its problem."""

    def one(case: Case) -> Row:
        row = _play(*case)
        told(row)
        return row

    with ThreadPoolExecutor(at_once) as pool:
        return list(pool.map(one, cases))


def _play(fault: Fault, kind: str, engine: Engine) -> Row:
    with (
        tempfile.TemporaryDirectory(prefix="counterfoil-peers-") as place,
        SandboxProcess(receiver_of(kind, fault)) as receiver,
    ):
        environ = {"RECEIVER": receiver.url, "RECEIVER_KIND": kind, "KEY_SECONDS": str(fault.key_seconds)}
        try:
            with site_of(engine, Path(place), environ) as site:
                before = fault.play(site, receiver)
        except Exception as problem:  # one engine's trouble must not hide what the others showed
            return Row(fault.name, kind, engine.name, None, "not played", 0, f"{type(problem).__name__}: {problem}")
        records = len(receiver.records()) - before
        return Row(fault.name, kind, engine.name, records, site.states[-1], len(receiver.requests()))
