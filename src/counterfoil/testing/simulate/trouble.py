"""Trouble: what happens to processes, disks, clocks and files while a schedule plays."""

from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import ClassVar

from counterfoil.testing.simulate.application import VARIANTS
from counterfoil.testing.simulate.book import Book
from counterfoil.testing.simulate.network import Network
from counterfoil.testing.simulate.office import Office
from counterfoil.testing.simulate.options import Options
from counterfoil.testing.simulate.site import Site
from counterfoil.testing.simulate.world import Process, World

KEPT_BACKUPS = 3
SELDOM = {"restore": 2, "key-store-lost": 1, "reboot": 3, "clock-back": 2, "clock-forward": 3}
"""How often at most in one schedule: of more nothing new comes, and what they excuse would hide something else."""


class Trouble:
    """Keeps as many workers and one office going, and disturbs them until it is calm."""

    def __init__(
        self, world: World, site: Site, book: Book, network: Network, office: Office, options: Options
    ) -> None:
        self._world = world
        self._site = site
        self._book = book
        self._network = network
        self._office = office
        self._options = options
        self._chance = world.chance("trouble")
        self._loop = world.outside.loop
        self._variant = self._chance.choice(("old", "both"))
        self._backups: list[Path] = []
        self._done: Counter[str] = Counter()
        self._is_down = False  # no process runs: a backup is being put back
        self.down_for = (0.0, 40.0)  # between so many seconds

    def begin(self) -> None:
        """The first processes, and the first disturbance."""
        self._office.start(self._variant, founds=True)
        self._loop.call_later(0.5, self._keep)
        self._loop.call_later(1.0, self._next)
        self._loop.call_later(5.0, self._back_up)

    def calm(self) -> None:
        """No disturbance any more: everything thaws, and is started anew with code that knows every version."""
        self._world.is_calm = True
        self._variant = "both"
        self._is_down = False
        if self._world.clock_is_off_by < 0:
            self._world.step_clock(-self._world.clock_is_off_by)
        for process in self._ours():
            process.thaw()
            process.slow_us = 0
            process.die()
        self._loop.call_later(1.0, self._keep)

    # ------------------------------------------------------------------ what keeps it going

    def _ours(self, *, workers_only: bool = False) -> list[Process]:
        outside, office = self._world.outside, "office"
        return [p for p in self._world.processes if p is not outside and not (workers_only and p.name == office)]

    def _keep(self) -> None:
        """A supervisor: whoever is missing is started again, after a while."""
        if not self._is_down:
            workers = self._ours(workers_only=True)
            if len(workers) == len(self._ours()):
                self._office.start(self._variant)
            if len(workers) < self._options.workers:
                self._site.start_worker(self._variant, duties=self._options.duties)
        self._loop.call_later(self._chance.uniform(0.3, 6.0), self._keep)

    def _back_up(self) -> None:
        if self._world.chance_of("restore") and not self._is_down:
            self._backups = [*self._backups, self._site.back_up()][-KEPT_BACKUPS:]
        self._loop.call_later(self._chance.uniform(5.0, 40.0), self._back_up)

    # ------------------------------------------------------------------ disturbances

    def _next(self) -> None:
        if self._world.is_calm:
            return
        done = self._done
        weights = {n: self._options.chance_of(n) for n in self._acts if done[n] < SELDOM.get(n, 1 << 30)}
        if any(weights.values()) and not self._is_down:
            (name,) = self._chance.choices(list(weights), list(weights.values()))
            if self._acts[name](self):
                self._world.hit(name)
                done[name] += 1
        self._loop.call_later(self._chance.expovariate(1 / 8.0), self._next)

    def _some(self, *, workers_only: bool = True) -> Process | None:
        known = [process for process in self._ours(workers_only=workers_only) if not process.frozen]
        return self._chance.choice(known) if known else None

    def _kill(self) -> bool:
        process = self._some()
        if process is not None:
            process.die()
        return process is not None

    def _freeze(self) -> bool:
        process = self._some(workers_only=False)
        if process is not None:
            process.freeze(self._chance.choice((0.5, 4.0, 12.0, 30.0, 100.0, 300.0)))
        return process is not None

    def _drain(self) -> bool:
        process = self._some()
        worker = None if process is None else self._site.workers.get(process.name)
        if worker is not None:
            worker.stop()
        return worker is not None

    def _kill_office(self) -> bool:
        process = self._some(workers_only=False)
        if process is None or process.name != "office":
            return False
        process.die()
        return True

    def _reboot(self) -> bool:
        for process in self._ours():
            process.die()
        self._world.boot += 1
        self._world.trace.note("host", "boots")
        return True

    def _slow_disk(self) -> bool:
        process = self._some(workers_only=False)
        if process is None:
            return False
        process.slow_us = round(self._chance.choice((0.05, 1.0, 6.0, 20.0)) * 1_000_000)
        self._loop.call_later(self._chance.uniform(1, 60), lambda: setattr(process, "slow_us", 0))
        return True

    def _clock_back(self) -> bool:
        self._world.step_clock(-self._chance.choice((0.5, 20.0, 90.0, 3600.0)))
        return True

    def _clock_forward(self) -> bool:
        self._world.step_clock(self._chance.choice((0.5, 20.0, 90.0, 300.0)))
        return True

    def _restore(self) -> bool:
        if not self._backups:
            return False
        self.put_back(self._chance.choice(self._backups))
        return True

    def without_workers(self, seconds: float) -> None:
        """Every worker dies, and none is started for so long. People go on."""
        self._is_down = True
        for process in self._ours(workers_only=True):
            process.die()

        def up() -> None:
            self._is_down = False

        self._loop.call_later(seconds, up)

    def put_back(self, backup: Path) -> None:
        """The database of a while ago is put back; the marker outside stays. Clients ask again for what they were promised."""
        self._is_down = True
        for process in self._ours():
            process.die()
        self._world.trace.note("host", f"puts back the backup {backup.name}")
        self._site.put_back(backup)
        self._book.restored_us.append(self._world.boot_us)
        for scope in ("all", "receiver:crm"):
            self._book.lifted(scope, self._world.boot_us)  # the backup may not know of it
        self._book.stopped("restored", self._world.boot_us)
        self._book.void_all(self._world.boot_us)
        for wish in self._book.wishes:
            wish.acknowledged = False

        def up() -> None:
            self._is_down = False

        self._loop.call_later(self._chance.uniform(*self.down_for), up)

    def _deploy(self) -> bool:
        self._variant = self._chance.choice(VARIANTS)
        for process in self._ours():
            worker = self._site.workers.get(process.name)
            if worker is not None and self._chance.random() < 0.6:
                worker.stop()
            elif self._chance.random() < 0.7:
                process.die()
        return True

    def _lose_keys(self) -> bool:
        self._network.receiver.forget_keys()
        for departure in self._network.departures:
            if departure.request.key is not None:
                self._network.breaches[departure.request.reference] = "the receiver lost its keys"
        return True

    def _edit(self) -> bool:
        """Somebody changes a record at the receiver."""
        known = self._network.receiver.records
        if not known:
            return False
        record = self._chance.choice(known)
        record.body["amount"] += 1
        record.edited = True
        return True

    _acts: ClassVar[Mapping[str, Callable[..., bool]]] = {
        "kill": _kill, "freeze": _freeze, "drain": _drain, "kill-office": _kill_office, "reboot": _reboot,
        "slow-disk": _slow_disk, "clock-back": _clock_back, "clock-forward": _clock_forward, "restore": _restore,
        "deploy": _deploy, "key-store-lost": _lose_keys, "edited": _edit,
    }  # fmt: skip
