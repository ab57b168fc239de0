"""The people of a simulation: they answer what is asked, judge doubts by looking at the receiver, and now and then interfere."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, ClassVar

from counterfoil.app.access.actor import Actor
from counterfoil.model.codec import parsed
from counterfoil.model.errors import CounterfoilError, Refused
from counterfoil.model.installation import IncidentRecord, SuspensionRecord
from counterfoil.model.operation import OperationRecord, OperationStatus
from counterfoil.model.review import ReviewRecord, ReviewState
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.store.port import StorageError
from counterfoil.testing.simulate.book import Book, Consent
from counterfoil.testing.simulate.contracts import LATE_S, TIMEOUT_S
from counterfoil.testing.simulate.network import Network
from counterfoil.testing.simulate.site import SECOND_US, SimulatedApp
from counterfoil.testing.simulate.world import World

MANAGERS, LEADS = ("ana", "ben", "cleo", "dora"), ("oscar", "olga")
PATIENCE_US = (TIMEOUT_S + 5 + LATE_S + 25) * SECOND_US  # after a try nothing of it can still arrive; then people judge
LONG_US = 40 * SECOND_US  # a stop lasts at least so long
DOUBTS = frozenset(
    {ParkReason.OUTCOME_UNKNOWN, ParkReason.RECEIVER_MISMATCH, ParkReason.INCONSISTENT, ParkReason.ORDER_OVERTAKEN}
)
HELD = frozenset({ParkReason.POSSIBLE_REPEAT, ParkReason.BUSINESS_KEY_CONFLICT})
BUDGETS = {
    ParkReason.BUDGET_ATTEMPTS: "attempts", ParkReason.BUDGET_ELAPSED: "elapsed", ParkReason.BUDGET_SPEND: "spend",
}  # fmt: skip
RESUMED = frozenset({ParkReason.REVIEW_EXPIRED, ParkReason.EXPIRED, ParkReason.POISONED, ParkReason.NO_PROGRESS})


def who(name: str) -> Actor:
    """A person whose identity was shown."""
    return Actor(name, "secret")


class People:
    """Those who look into the console of one office process."""

    def __init__(self, world: World, app: SimulatedApp, book: Book, network: Network) -> None:
        self._world = world
        self._app = app
        self._book = book
        self._network = network
        self._chance = world.chance(f"people from {world.boot_us}")
        self._answer_at: dict[str, int] = {}

    async def look(self) -> None:
        """One look at everything that waits. What is refused is counted; a database that fails is looked at again later."""
        opened = self._app.open()
        with opened.read() as reader:
            installation = reader.installation
            reviews = [review for review in reader.rows(ReviewRecord) if review.state is ReviewState.OPEN]
            runs = list(reader.rows(RunRecord))
            incidents = [incident for incident in reader.rows(IncidentRecord) if incident.closed_at is None]
            stops = [each for each in reader.rows(SuspensionRecord) if each.lifted_at is None]
        if installation is not None and installation.restore_state == "open" and self._has_come(self._restore_due()):
            await self._finish_restore()
        for stop in stops:
            if self._world.wall_us - stop.at > LONG_US and self._often():
                self._book.lifted(stop.scope, self._world.boot_us)
                await self._try(
                    lambda stop=stop: self._app.writes.resume(by=who("oscar"), reason="checked", **_scope(stop))
                )
        for review in reviews:
            await self._answer(review)
        for run in runs:
            if run.state is RunState.PARKED and self._often():
                await self._move(run)
        for incident in incidents:
            if self._chance.random() < 0.4:
                await self._try(
                    lambda i=incident: self._app.incidents.close(i.incident_id, by=who(self._lead()), reason="weighed")
                )
        await self._interfere(runs)

    # ------------------------------------------------------------------ reviews

    async def _answer(self, review: ReviewRecord) -> None:
        due = self._answer_at.get(review.review_id)
        if due is None:
            wait = self._chance.uniform(1, 30)
            if self._chance.random() < self._world.chance_of("answer-late"):
                self._world.hit("answer-late")
                wait = self._chance.uniform(100, 200)
            due = self._answer_at[review.review_id] = self._world.boot_us + round(wait * SECOND_US)
        if self._world.boot_us < due:
            return
        self._answer_at[review.review_id] = self._world.boot_us + 5 * SECOND_US
        person = self._chance.choice(MANAGERS)
        if self._chance.random() < self._world.chance_of("reject"):
            revise = self._chance.random() < 0.6
            self._world.hit("reject")
            await self._try(
                lambda: self._app.reviews.reject(
                    review.review_id, digest=review.digest, by=who(person), comment="no", ask_revision=revise
                )
            )
        else:
            await self._approve(review, person, review.digest)

    async def _approve(self, review: ReviewRecord, person: str, digest: str) -> None:
        """The consent is given before anybody hears it: a person who said yes has said so, whatever dies then."""
        consent = Consent(review.operation_id, digest, person, self._world.boot_us)
        self._book.consents.append(consent)
        try:
            await self._app.reviews.approve(review.review_id, digest=digest, by=who(person))
        except StorageError:
            pass  # its fate is open
        except Refused as refused:
            self._book.refused[refused.code] += 1
            self._book.consents.remove(consent)

    # ------------------------------------------------------------------ what is parked

    async def _move(self, run: RunRecord) -> None:
        reason = ParkReason(run.reason or "")
        app, lead = self._app, who(self._lead())
        if reason in DOUBTS:
            await self._judge_of(run)
        elif reason in HELD:
            await self._lift_of(run)
        elif reason is ParkReason.DUPLICATE_FOUND:
            await self._judge_of(run)
            await self._try(lambda: app.runs.resume(run.run_id, by=lead))
        elif reason in BUDGETS:
            await self._judge_of(run)  # what more tries did not tell, the receiver's list does
            raises = {BUDGETS[reason]: _more(run, reason)}
            await self._try(lambda: app.runs.resume(run.run_id, by=lead, raises=raises))
        elif reason in RESUMED:
            await self._try(lambda: app.runs.resume(run.run_id, by=lead))
        elif reason is ParkReason.STEP_FAILED:
            act = app.runs.retry if self._chance.random() < 0.7 else app.runs.cancel
            await self._try(lambda: act(run.run_id, by=lead))
        elif reason is ParkReason.REVIEW_REJECTED:
            act = app.runs.resume if self._chance.random() < 0.5 else app.runs.cancel
            await self._try(lambda: act(run.run_id, by=lead))
        elif reason is ParkReason.CODE_CHANGED and self._world.is_calm and self._chance.random() < 0.2:
            await self._try(lambda: app.runs.cancel(run.run_id, by=lead))

    def _operations_of(self, run: RunRecord) -> list[OperationRecord]:
        with self._app.open().read() as reader:
            return reader.find(OperationRecord, "run_id", run.run_id)

    async def _judge_of(self, run: RunRecord) -> None:
        for operation in self._operations_of(run):
            if operation.sent and not operation.status.closed and operation.status is not OperationStatus.IN_FLIGHT:
                await self._judge(operation)

    async def _judge(self, operation: OperationRecord) -> None:
        """Look at the receiver. Nobody says that something did not happen before it can no longer arrive, unless in haste."""
        held = self._network.receiver.held_for(operation.operation_id)
        left = [d.left_us for d in self._network.departures if d.request.reference == operation.operation_id]
        is_early = self._world.boot_us < max(left, default=0) + PATIENCE_US
        if is_early and not held:
            if self._chance.random() >= self._world.chance_of("hasty"):
                return
            self._world.hit("hasty")
            self._book.hasty.add(operation.operation_id)
        if held:
            said: dict[str, Any] = {"as_": "succeeded", "reference": held[0].id}
        else:
            orders = (
                {"as_": "send-again"},
                {"as_": "send-again", "new_key": True},
                {"as_": "failed"},
                {"as_": "failed"},
            )
            said = dict(self._chance.choice(orders))
        done = await self._try(
            lambda: self._app.operations.resolve(
                operation.operation_id, by=who(self._chance.choice(LEADS)), reason="looked into the list",
                evidence="what the list showed", expect_version=operation.version, **said,
            )
        )  # fmt: skip
        if done:
            self._book.words[operation.operation_id] = said["as_"]

    async def _lift_of(self, run: RunRecord) -> None:
        for operation in self._operations_of(run):
            if operation.reason not in HELD or operation.status.closed:
                continue
            allow = self._chance.random() < 0.4
            done = await self._try(
                lambda operation=operation, allow=allow: self._app.operations.resolve(
                    operation.operation_id, as_="send-again" if allow else "failed", by=who(self._lead()),
                    reason="both are meant" if allow else "it is one", evidence="asked the customer",
                    expect_version=operation.version,
                )
            )  # fmt: skip
            if done and allow:
                self._book.allowed[f"{operation.name} {parsed(operation.payload)['number']}"] += 1

    # ------------------------------------------------------------------ the installation

    def _restore_due(self) -> int:
        return max(self._book.restored_us, default=0) + 40 * SECOND_US

    async def _finish_restore(self) -> None:
        self._book.lifted("restored", self._world.boot_us)
        await self._try(lambda: self._app.restore.finish(as_="restored", by=who("oscar"), reason="nothing else runs"))

    async def _interfere(self, runs: list[RunRecord]) -> None:
        """Now and then somebody does what nobody needs, or what must be refused."""
        for name, act in self._acts.items():
            if self._chance.random() < 0.02 * self._world.chance_of(name):
                await act(self, runs)

    async def _suspend(self, runs: list[RunRecord]) -> None:
        scope: dict[str, Any] = {"all_": True} if self._chance.random() < 0.5 else {"receiver": "crm"}
        if await self._try(lambda: self._app.writes.suspend(by=who("oscar"), reason="careful", **scope)):
            self._world.hit("suspend")
            self._book.stopped("all" if "all_" in scope else "receiver:crm", self._world.boot_us)

    async def _cancel(self, runs: list[RunRecord]) -> None:
        going = [run for run in runs if not run.state.ended]
        if going:
            run = self._chance.choice(going)
            if await self._try(lambda: self._app.runs.cancel(run.run_id, by=who(self._lead()))):
                self._world.hit("cancel")

    async def _revoke(self, runs: list[RunRecord]) -> None:
        if await self._try(lambda: self._app.people.revoke("cleo", by=who("root"))):
            self._book.void_of(self._world.boot_us, person="cleo")
            self._world.hit("revoke")

    async def _withdraw(self, runs: list[RunRecord]) -> None:
        review = self._some_review(lambda each: each.state is ReviewState.APPROVED and each.used_by is None)
        if review is not None and await self._try(
            lambda: self._app.reviews.withdraw(review.review_id, by=who(self._chance.choice(MANAGERS)))
        ):
            self._book.void_of(self._world.boot_us, operation_id=review.operation_id)
            self._world.hit("withdraw")

    async def _answer_twice(self, runs: list[RunRecord]) -> None:
        review = self._some_review(lambda each: each.state in (ReviewState.APPROVED, ReviewState.REJECTED))
        if review is not None:
            self._world.hit("answer-twice")
            person = who(self._chance.choice(MANAGERS))
            again = self._app.reviews.reject if self._chance.random() < 0.5 else self._app.reviews.approve
            await self._try(lambda: again(review.review_id, digest=review.digest, by=person))

    async def _answer_other(self, runs: list[RunRecord]) -> None:
        """A page that was open for long: the digest of another version, or of another operation."""
        review, other = (
            self._some_review(lambda each: each.state is ReviewState.OPEN),
            self._some_review(lambda each: True),
        )
        if review is not None and other is not None and other.digest != review.digest:
            self._world.hit("answer-other-version")
            await self._approve(review, self._chance.choice(MANAGERS), other.digest)

    async def _answer_not_entitled(self, runs: list[RunRecord]) -> None:
        review = self._some_review(lambda each: each.state is ReviewState.OPEN)
        if review is not None:
            self._world.hit("answer-not-entitled")
            await self._approve(review, self._chance.choice(("max", "root", "oscar")), review.digest)

    async def _look_up(self, runs: list[RunRecord]) -> None:
        with self._app.open().read() as reader:
            known = list(reader.rows(OperationRecord))
        if known:
            self._world.hit("look-up")
            one = self._chance.choice(known).operation_id
            await self._try(lambda: self._app.operations.lookup(one, by=who(self._lead())))

    async def _quiet(self, runs: list[RunRecord]) -> None:
        alive = [worker for worker in self._app.workers.list()["items"] if worker["alive"]]
        if alive:
            worker = self._chance.choice(alive)
            act = self._app.workers.wake if worker["quiet"] else self._app.workers.quiet
            if await self._try(lambda: act(worker["worker_id"], by=who("root"), reason="to see")):
                self._world.hit("quiet")

    _acts: ClassVar[Mapping[str, Callable[..., Awaitable[None]]]] = {
        "suspend": _suspend, "cancel": _cancel, "revoke": _revoke, "withdraw": _withdraw, "answer-twice": _answer_twice,
        "answer-other-version": _answer_other, "answer-not-entitled": _answer_not_entitled, "look-up": _look_up,
        "quiet": _quiet,
    }  # fmt: skip

    # ------------------------------------------------------------------ small things

    def _some_review(self, fits: Callable[[ReviewRecord], bool]) -> ReviewRecord | None:
        with self._app.open().read() as reader:
            known = [review for review in reader.rows(ReviewRecord) if fits(review)]
        return self._chance.choice(known) if known else None

    def _lead(self) -> str:
        return self._chance.choice(LEADS)

    def _often(self) -> bool:
        return self._world.is_calm or self._chance.random() < 0.5

    def _has_come(self, at_us: int) -> bool:
        return self._world.boot_us >= at_us

    async def _try(self, act: Callable[[], Awaitable[Any]]) -> bool:
        """Whether it was done. A rule that refuses it is no fault; what comes of a failing disk is seen later."""
        try:
            await act()
        except CounterfoilError as refused:
            self._book.refused[refused.code] += 1
            self._world.trace.note("people", f"are refused: {refused.code}")
            return False
        return True


def _scope(stop: SuspensionRecord) -> dict[str, Any]:
    kind, _, name = stop.scope.partition(":")
    return {"all_": True} if kind == "all" else {kind: name}


def _more(run: RunRecord, reason: ParkReason) -> str:
    budget = parsed(run.budget)
    if reason is ParkReason.BUDGET_ATTEMPTS:
        return str(max(budget["attempts"], run.failed_tries) + 6)
    if reason is ParkReason.BUDGET_ELAPSED:
        return str(budget["elapsed_us"] // SECOND_US + 1800)
    return f"{budget['spend_micros'] / 1_000_000 + 0.4:.2f}"
