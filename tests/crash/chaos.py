"""Workers and their database are killed, frozen, restarted and cut off, as a seed says; at the end everything is accounted for.

    python -m tests.crash.chaos --seed 7 --seconds 60 --workers 4 --runs 60

prints one line of JSON and ends with 1 if a run is unaccounted for or a receiver's count is wrong. The seed draws what happens,
to whom and when; how far the work has come by then is the machine's.
"""

import argparse
import asyncio
import json
import random
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from counterfoil.engine.clock import SystemClock
from counterfoil.testing.relay import Relay, relay
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.crash.fleet import Fleet, FleetWorker
from tests.crash.fleet_application import KINDS
from tests.crash.shipping import Shipped, described, ledger, receivers, submit, until_accounted, weighed
from tests.servers.postgres import PostgresServer, running

FAULTS = (
    "kill-worker", "kill-worker", "freeze-worker", "freeze-worker", "end-worker", "restart-server", "kill-server",
    "freeze-server", "cut-connections", "cut-connections", "end-sessions", "drop-reply", "hang",
)  # fmt: skip
CALM_S = 120.0  # so long everything may take at most: a run whose worker died twice has a process of its own, one after the other


@dataclass(frozen=True, slots=True)
class Fault:
    """One disturbance: when, what, to which worker, and for how long."""

    at_s: float
    name: str
    whom: int
    lasts_s: float


def schedule(seed: int, seconds: float) -> Iterator[Fault]:
    """What the seed draws. A pause of half a second to two and a half between two disturbances."""
    chance = random.Random(seed)
    at = 0.5
    while at < seconds:
        yield Fault(at, chance.choice(FAULTS), chance.randrange(1 << 16), chance.uniform(0.3, 7.0))
        at += chance.uniform(0.5, 2.5)


class Chaos:
    """The stage: a server, a relay before it, a fleet by both ways, and the receivers."""

    def __init__(self, server: PostgresServer, between: Relay, fleet: Fleet, held: dict[str, SandboxProcess]) -> None:
        self.faults: Counter[str] = Counter()
        self._server = server
        self._between = between
        self._fleet = fleet
        self._held = held
        self._clock = SystemClock()
        self._later: set[asyncio.Task[None]] = set()
        self._server_busy = False

    async def play(self, fault: Fault) -> None:
        """Do it. One that lasts ends by itself, beside the next."""
        worker = self._chosen(fault.whom)
        match fault.name:
            case "kill-worker" if worker is not None:
                worker.kill()
                self._fleet.start()
            case "end-worker" if worker is not None:
                worker.tell_to_end()
                self._fleet.start()
            case "freeze-worker" if worker is not None:
                worker.freeze()
                self._after(fault.lasts_s, worker.thaw)
            case "restart-server" | "kill-server" | "freeze-server" if not self._server_busy:
                await self._disturb_server(fault)
            case "cut-connections":
                self._between.cut()
            case "end-sessions" if not self._server_busy:
                statement = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname LIKE 'test%%' AND pid <> pg_backend_pid()"
                await asyncio.to_thread(self._server.ask, statement)
            case "drop-reply" | "hang":
                kind = KINDS[fault.whom % len(KINDS)]
                more: dict[str, Any] = {"seconds": 1.0} if fault.name == "hang" else {}
                self._held[kind].fault(fault.name, count=1, **more)
            case _:
                return
        self.faults[fault.name] += 1

    async def _disturb_server(self, fault: Fault) -> None:
        self._server_busy = True
        match fault.name:
            case "restart-server":
                await asyncio.to_thread(self._server.restart)
                self._server_busy = False
            case "kill-server":
                await asyncio.to_thread(self._server.kill)
                self._after(min(fault.lasts_s, 3.0), self._start_server)
            case _:
                self._server.freeze()
                self._after(fault.lasts_s, self._thaw_server)

    def _start_server(self) -> None:
        self._server.start()
        self._server_busy = False

    def _thaw_server(self) -> None:
        self._server.thaw()
        self._server_busy = False

    def _chosen(self, whom: int) -> FleetWorker | None:
        able = [worker for worker in self._fleet.workers if worker.alive and not worker.frozen]
        return able[whom % len(able)] if able else None

    def _after(self, seconds: float, act: Any) -> None:
        async def later() -> None:
            await self.until(self._clock.now_us() + int(seconds * 1_000_000))
            await asyncio.to_thread(act)

        part = asyncio.create_task(later())
        self._later.add(part)
        part.add_done_callback(self._later.discard)

    async def until(self, at_us: int) -> None:
        await self._clock.wait(asyncio.Event(), at_us)

    async def calm(self) -> None:
        """What lasts has ended: nobody is frozen, and the server is there."""
        if self._later:
            await asyncio.wait(self._later)


async def played(chaos: Chaos, seed: int, seconds: float, runs: int) -> list[Shipped]:
    """Submit all along, disturb as the seed says. Who submits has a thread of its own: it waits while the server is frozen."""
    begun = SystemClock().now_us()
    submitting = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(_all_submitted(begun, seconds, runs))))
    for fault in schedule(seed, seconds):
        await chaos.until(begun + int(fault.at_s * 1_000_000))
        await chaos.play(fault)
    await chaos.calm()
    return await submitting


async def _all_submitted(begun: int, seconds: float, runs: int) -> list[Shipped]:
    clock = SystemClock()
    shipped: list[Shipped] = []
    for number in range(runs):
        await clock.wait(asyncio.Event(), begun + int(number * seconds / runs * 1_000_000))
        shipped.append(await _submitted(number))
    return shipped


async def _submitted(number: int) -> Shipped:
    """A caller tries again with the same request id, as callers do."""
    clock = SystemClock()
    while True:
        try:
            return await submit(number, KINDS[number % len(KINDS)])
        except Exception as problem:
            if getattr(problem, "code", "") not in ("server_lost", "storage_failed", "database_busy"):
                raise
            await clock.wait(asyncio.Event(), clock.now_us() + 200_000)


def chaos(seed: int, seconds: float, workers: int, runs: int) -> dict[str, Any]:
    """{seed, seconds, workers, runs, faults, ended, unaccounted_runs, unaccounted, wrong}."""
    clock = SystemClock()
    begun = clock.now_us()
    with (
        tempfile.TemporaryDirectory() as place,
        receivers() as held,
        running() as server,
        relay(server.port) as between,
    ):
        folder = Path(place)
        url = server.url()
        ways = [url, url.replace(f":{server.port}/", f":{between.port}/")]
        with ledger(url, str(folder / "state")), Fleet(folder, ways) as fleet:
            for worker in [fleet.start() for _ in range(workers)]:
                worker.wait_ready()
            stage = Chaos(server, between, fleet, held)

            async def story() -> tuple[list[Shipped], list[Any]]:
                shipped = await played(stage, seed, seconds, runs)
                return shipped, await until_accounted(shipped, CALM_S)

            shipped, left = asyncio.run(story())
            unaccounted = [described(run) for run in left]
            ended, wrong = weighed(shipped, held)
            living = [worker.pid for worker in fleet.workers if worker.alive]
            said = [line for worker in fleet.workers for line in worker.said[-40:]] if left else []
            wrong += _ends(fleet)
    return {
        "seed": seed, "seconds": round((clock.now_us() - begun) / 1_000_000, 1), "workers": workers, "runs": len(shipped),
        "faults": dict(sorted(stage.faults.items())), "ended": dict(sorted(ended.items())),
        "unaccounted_runs": len(left), "unaccounted": unaccounted,
        "wrong": wrong, "living": living, "said": said,
    }  # fmt: skip


def _ends(fleet: Fleet) -> list[str]:
    """Whoever is left is told to end, and does so in order."""
    living = [worker for worker in fleet.workers if worker.alive]
    for worker in living:
        worker.wait_ready()
        worker.tell_to_end()
    wrong: list[str] = []
    for worker in living:
        with suppress(TimeoutError):
            status = worker.ended(40)
            if status != 0:
                wrong.append(f"worker {worker.pid} ended with {status}: {''.join(worker.said[-5:])}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("seed", 1), ("seconds", 60), ("workers", 4), ("runs", 60)):
        parser.add_argument(f"--{name}", type=int, default=default)
    asked = parser.parse_args()
    told = chaos(asked.seed, asked.seconds, asked.workers, asked.runs)
    sys.stdout.write(json.dumps(told) + "\n")
    return int(bool(told["unaccounted_runs"] or told["wrong"]))


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    sys.exit(main())
