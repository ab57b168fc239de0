"""The office: one process in which clients submit, and people look into the console. It dies like any other."""

from random import Random

from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.store.port import StorageError
from counterfoil.testing.simulate.application import Act, Plan
from counterfoil.testing.simulate.book import Book, Wish
from counterfoil.testing.simulate.network import Network
from counterfoil.testing.simulate.options import Options
from counterfoil.testing.simulate.people import People, who
from counterfoil.testing.simulate.site import SECOND_US, SimulatedApp, Site
from counterfoil.testing.simulate.world import START_US, Process, World

KINDS = (
    "perform", "perform", "perform", "decided", "revised", "step", "message", "sleep", "signal", "timeout", "gather", "child",
)  # fmt: skip
DEEPEST = 2


def wishes(world: World, options: Options) -> list[Wish]:
    """What clients want of this installation, drawn from the seed."""
    chance = world.chance("wishes")
    made: list[Wish] = []
    for n in range(options.runs):
        acts = _plan(chance, options, f"{n + 1}", DEEPEST)
        if chance.random() < options.chance_of("same-number") and made:
            world.hit("same-number")
            acts += _again(chance, made)
        at_us = START_US + round(chance.uniform(0, options.calm_after * 0.7) * SECOND_US)
        by = chance.choice((None, None, "ana"))
        made.append(Wish(f"request-{n + 1}", Plan(acts=acts), at_us, by))
    return made


def _plan(chance: Random, options: Options, number: str, depth: int) -> list[Act]:
    return [_act(chance, options, f"{number}.{n + 1}", depth) for n in range(chance.randint(1, options.acts))]


def _act(chance: Random, options: Options, number: str, depth: int) -> Act:
    kind = chance.choice(KINDS)
    if kind in ("gather", "child", "timeout") and depth == 0:
        kind = "perform"
    inner = {"gather": 2, "child": 1, "timeout": 1}.get(kind, 0)
    acts = [_plan(chance, options, f"{number}.{n + 1}", depth - 1) for n in range(inner)]
    return Act(
        kind=kind, name=chance.choice(options.operations), number=number, amount=chance.randrange(1, 1000),
        seconds=chance.choice((1, 4, 20, 45, 90)), acts=acts,
    )  # fmt: skip


def _again(chance: Random, made: list[Wish]) -> list[Act]:
    """The same intention as another run has: with equal or with other content."""
    known = [act for act in chance.choice(made).plan.acts if act.kind == "perform"]
    if not known:
        return []
    act = chance.choice(known)
    return [act.model_copy(update={"amount": act.amount + chance.choice((0, 0, 1))})]


class Office:
    """Clients and people over one process."""

    def __init__(self, world: World, site: Site, book: Book, network: Network, options: Options) -> None:
        self._world = world
        self._site = site
        self._book = book
        self._network = network
        self._options = options

    def start(self, variant: str, *, founds: bool = False) -> Process:
        """A new process. `founds`: it makes the database first."""
        process = self._world.process("office")
        process.start(self._work(process, variant, founds))
        return process

    async def _work(self, process: Process, variant: str, founds: bool) -> None:
        app = self._site.open(process, variant, founds=founds)
        people = People(self._world, app, self._book, self._network)
        chance = self._world.chance(f"office {process.number}")
        process.start(self._clients(process, app, chance))
        while True:
            await self._rest(process, chance.uniform(1, 8))
            try:
                await people.look()
            except StorageError:
                continue

    async def _clients(self, process: Process, app: SimulatedApp, chance: Random) -> None:
        while True:
            await self._rest(process, chance.uniform(0.2, 2))
            for wish in self._book.wishes:
                if wish.at_us <= self._world.boot_us and not wish.acknowledged:
                    await self._submit(app, wish)
                elif wish.acknowledged and chance.random() < 0.05 * self._world.chance_of("resubmit"):
                    self._world.hit("resubmit")
                    await self._submit(app, wish)
                elif wish.acknowledged and chance.random() < 0.05 * self._world.chance_of("other-content"):
                    self._world.hit("other-content")
                    await self._other_content(app, wish)
                elif wish.acknowledged and chance.random() < 0.2 * self._world.chance_of("signal"):
                    self._world.hit("signal")
                    await self._signal(app, wish, chance)

    async def _submit(self, app: SimulatedApp, wish: Wish) -> None:
        wish.times += 1
        by = None if wish.by is None else who(wish.by)
        try:
            answer = await app.runs.submit("play", wish.plan.model_dump(), request_id=wish.request_id, by=by)
        except CounterfoilError as problem:
            self._book.refused[problem.code] += 1
            return
        wish.run_id, wish.acknowledged = answer["run_id"], True

    async def _other_content(self, app: SimulatedApp, wish: Wish) -> None:
        other = Plan(acts=[*wish.plan.acts, Act(kind="message", name="more")])
        try:
            await app.runs.submit("play", other.model_dump(), request_id=wish.request_id)
        except Refused as refused:
            self._book.refused[refused.code] += 1
        else:
            self._book.wrong.append(f"{wish.request_id} was taken with other content")

    async def _signal(self, app: SimulatedApp, wish: Wish, chance: Random) -> None:
        order = {"number": "go", "amount": chance.randrange(3)}
        try:
            await app.signals.send(wish.run_id or "", "go", order, signal_id=f"go-{order['amount']}")
        except CounterfoilError as refused:
            self._book.refused[refused.code] += 1

    async def _rest(self, process: Process, seconds: float) -> None:
        passed = process.loop.create_future()
        process.loop.call_later(seconds, lambda: passed.done() or passed.set_result(None))
        await passed
