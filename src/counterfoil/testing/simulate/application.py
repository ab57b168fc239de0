"""The application that is simulated: an operation for every kind of contract, and a workflow that plays a drawn plan."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import cache
from typing import Any

from pydantic import BaseModel

from counterfoil.app.application import App
from counterfoil.engine.definitions import Operation, Workflow, step
from counterfoil.engine.port import Call, Run
from counterfoil.model.budget import Budget, Retry
from counterfoil.model.errors import OperationFailed, ReviewExpired, ReviewRejected, StepFailed, TimedOut
from counterfoil.model.people import Owner
from counterfoil.model.receipt import Receipt
from counterfoil.model.review import ReviewBy
from counterfoil.testing.simulate.contracts import Order, approvals_of, contract_of, names
from counterfoil.testing.simulate.world import here

EXPIRES_S = 120
OWNER = Owner("lead", within=timedelta(seconds=60), then="ops")
BUDGET = Budget(attempts=4, elapsed=timedelta(minutes=30), spend_usd=0.4, owner=OWNER)
PEOPLE: Mapping[str, tuple[str, ...]] = {
    "ana": ("manager",), "ben": ("manager",), "cleo": ("manager",), "dora": ("manager",),
    "oscar": ("lead", "ops"), "olga": ("lead", "ops"), "max": ("guest",), "root": ("admin",),
}  # fmt: skip


class Act(BaseModel):
    """One call of a plan. `acts` are those inside of a gather, a child or a timeout."""

    kind: str
    name: str = ""
    number: str = ""
    amount: int = 0
    seconds: int = 0
    acts: "list[list[Act]]" = []


class Plan(BaseModel):
    """The input of a run: what its workflow does, one after the other."""

    acts: list[Act]


# ---------------------------------------------------------------------------------------------------- user code


class Scripted:
    """A model that answers otherwise each time it is asked: only a saved decision stays the same."""

    name = "scripted"
    output_type = Order

    async def run(self, prompt: str) -> Any:
        """As an agent of Pydantic AI: something with an `output`."""
        world = here().world
        chance = world.chance(f"model {world.boot_us}")
        if chance.random() < world.chance_of("model-fails"):
            world.hit("model-fails")
            raise RuntimeError("the model is overloaded")
        return _Said(Order(number=prompt.split("\n")[0], amount=chance.randrange(1, 1000)))


@dataclass(frozen=True, slots=True)
class _Said:
    output: Order


@step(retry=Retry(tries=4, pause=timedelta(seconds=1), longest=timedelta(seconds=5)))
async def work(name: str) -> str:
    """A step that may fail, and may fail for good."""
    world = here().world
    drawn = world.chance(f"step {world.boot_us}").random()
    if drawn < world.chance_of("step-fails"):
        world.hit("step-fails")
        raise RuntimeError("the step failed")
    if drawn > 1 - world.chance_of("step-fails-for-good"):
        world.hit("step-fails-for-good")
        raise StepFailed("no_such_thing", f"{name} is not there")
    return name


def plain(name: str) -> str:
    """A step that is a plain function."""
    return name.upper()


MODEL = Scripted()


@dataclass(frozen=True, slots=True)
class _Player:
    """What a workflow of this code does with a plan."""

    operations: Mapping[str, Operation[Any, Any]]
    child: Callable[[], Workflow[Any, Any]]

    async def acts(self, run: Run, acts: Sequence[Act]) -> str:
        for act in acts:
            if act.kind in ("perform", "decided", "revised"):
                await self._write(run, act)
            elif act.kind in ("gather", "child", "timeout"):
                await self._nested(run, act)
            else:
                await self._plain(run, act)
        return "done"

    async def _plain(self, run: Run, act: Act) -> None:
        if act.kind == "step":
            await run.step(work, act.name)
            await run.step(plain, act.name)
        elif act.kind == "message":
            await run.message("agent", act.name)
            await run.document("notes", act.name)
        elif act.kind == "sleep":
            await run.sleep(timedelta(seconds=act.seconds))
        else:
            try:
                await run.wait_for("go", Order, within=timedelta(seconds=act.seconds))
            except TimedOut:
                await run.message("agent", "nobody said go")

    async def _nested(self, run: Run, act: Act) -> None:
        if act.kind == "gather":
            await run.gather(*(self.acts(run, acts) for acts in act.acts))
        elif act.kind == "child":
            await run.child(self.child(), Plan(acts=act.acts[0]), request_id=f"{act.number} of {run.id}")
        else:
            try:
                async with run.timeout(timedelta(seconds=act.seconds)):
                    await self.acts(run, act.acts[0])
            except TimedOut:
                await run.message("agent", "it took too long")

    async def _write(self, run: Run, act: Act) -> None:
        operation = self.operations[act.name]
        order = Order(number=act.number, amount=act.amount)
        if act.kind == "decided":
            order = await run.decide(MODEL, act.number, prompt_version="1")
        try:
            await (self._revised(run, operation, order) if act.kind == "revised" else run.perform(operation, order))
        except (OperationFailed, ReviewRejected, ReviewExpired):
            if act.seconds % 2:
                raise
            await run.message("agent", "it was not done")

    async def _revised(self, run: Run, operation: Operation[Any, Any], order: Order) -> None:
        proposal = await run.propose(operation, order)
        for _ in range(3):
            try:
                await run.perform(operation, proposal)
            except ReviewRejected as rejected:
                if not rejected.ask_revision:
                    raise
                order = await run.revise(MODEL, order.number, prompt_version="1", reason=rejected.comment)
                proposal = await run.propose(operation, order, replaces=proposal)
            else:
                return
        await run.perform(operation, proposal)


def _workflow(player: _Player, *, changed: bool) -> Callable[..., Any]:
    async def play(run: Run, plan: Plan) -> str:
        if changed:
            await run.step(work, "what the new code does first")
        return await player.acts(run, plan.acts)

    return play


VARIANTS = ("old", "both", "new", "changed")
"""The code of a process: version 1; versions 1 and 2; version 2 alone; and version 1 with other code under the same number."""


def _operation(app: App, name: str) -> Operation[Any, Any]:
    contract = contract_of(name)

    async def write(call: Call, order: Order) -> Receipt:
        if contract.precondition is not None:
            reply = await call.http.put(f"/{name}/{order.number}", json=order.model_dump())
        else:
            reply = await call.http.post(f"/{name}", json=order.model_dump())
        return Receipt(reference=reply.json()["id"])

    write.__name__ = name
    needed = approvals_of(name)
    review = None
    if needed:
        review = ReviewBy(role="manager", expires_in=timedelta(seconds=EXPIRES_S), owner=OWNER, approvals=needed)
    business_key = None if name == "loose" else "number"
    return app.operation(receiver="crm", contract=contract, business_key=business_key, review=review, owner=OWNER)(
        write
    )


@cache
def application(variant: str) -> App:
    """The application as this code has it. Made once: a process takes its registry."""
    app = App("simulated")
    app.receiver("crm", url="http://crm.invalid", environment="test")
    operations = {name: _operation(app, name) for name in names()}
    versions = {"old": (1,), "both": (1, 2), "new": (2,), "changed": (1,)}[variant]
    made: dict[int, Workflow[Any, Any]] = {}
    for version in versions:
        player = _Player(operations, lambda version=version: made[version])
        made[version] = app.workflow(version=version, budget=BUDGET)(_workflow(player, changed=variant == "changed"))
    return app
