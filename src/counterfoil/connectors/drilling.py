"""How a connector is drilled: a worker that is killed, a reply that is lost, and what the receiver holds afterwards.

    from counterfoil.connectors import stripe                # drilled/stripe.py: found by `receivers drill`
    app = App("drilled-stripe") ...                          # an application as a user would write it
    DRILLS = [Drill(connector="stripe.refund", app=app, workflow=refunded, server="...", start=Server, cases=HTTP_KEY)]

Workers are real processes and SIGKILL is the system's. Time is skipped where nothing but time is missing.
"""

import asyncio
import tempfile
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import asdict, dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal, Protocol

from counterfoil.app.application import App
from counterfoil.engine.definitions import Workflow, loaded, signature_of
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason, RunState
from counterfoil.testing.bench import Bench, BenchRun, target_of
from counterfoil.testing.children import Child, ChildFailed, Children
from counterfoil.testing.environ import environ_of

Kind = Literal["real", "sandbox"]
Ends = Literal["succeeded", "unresolved"]
ACCEPTED = "before:operation.classified"  # the receiver has answered, and nothing of that is on record
PATIENT = {"COUNTERFOIL_RUNNING_SECONDS": "2592000"}  # a run that lay still while time was skipped is not parked for it
TOO_LATE = timedelta(days=2)  # beyond every key's window that a connector relies on


class Served(Protocol):
    """The receiver that a drill has started, in its test mode, used by one case after another. Nobody else writes to it."""

    @property
    def environ(self) -> Mapping[str, str]:
        """What the drilled application reads: its address and its test credential."""
        ...

    def prepare(self, number: str) -> Any:
        """The payload of the next case, as JSON, after making at the receiver what it needs. Armed faults are cleared."""
        ...

    def records(self, payload: Any) -> int:
        """How many effects of this payload the receiver holds, by its own account: asked there, and not of our ledger."""
        ...

    def close(self) -> object:
        """End it."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """`ends`: what must become of the run. `play` does it. `attempts`: how many times it may have been sent, None: any."""

    name: str
    ends: Ends
    play: "Callable[[Play], Awaitable[None]]"
    attempts: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drill:
    """`connector`: FILE.OPERATION. `entries`: whose contracts. `app`: a global name of its module.

    `start` is given a folder of its own. It raises Refused(tool_missing) where the server is not installed.
    """

    connector: str
    entries: Sequence[str]
    app: App
    workflow: Workflow[Any, Any]
    server: str
    server_kind: Kind
    start: Callable[[Path], Served]
    cases: Sequence[Case]


class Play:
    """One case while it is played: the application under test, its run, and the receiver."""

    def __init__(self, bench: Bench, server: Any, run: BenchRun) -> None:
        self.bench, self.server, self._run = bench, server, run

    def start(self, *, crash_at: str | None = None) -> Child:
        """A worker as a child, which the caller kills."""
        return self.bench.start_worker(self._run.run_id, crash_at=crash_at)

    async def drive(self, *, crash_at: str | None = None) -> None:
        """A worker, until the run ends, waits for a person, or the worker is killed at `crash_at`. Raises ChildFailed."""
        child = self.start(crash_at=crash_at)
        await asyncio.to_thread(child.wait)
        killed = child.exit_signal is not None
        if killed != (crash_at is not None) or (not killed and child.exit_code != 0):
            raise ChildFailed(
                f"The worker ended with status {child.status}, killed at {crash_at}.\n{child.wrote()[-3000:]}"
            )

    async def look_up(self) -> None:
        """Ask the receiver now, as `operations lookup` does, and let the run go on by what it showed."""
        for each in self.operations():
            await self.bench.app.operations.lookup(each["operation_id"])
        await self.drive()

    def advance(self, duration: timedelta) -> None:
        """Time passes for every worker, and for a receiver whose clock can be moved."""
        self.bench.advance(duration)
        move = getattr(self.server, "advance", None)
        if move is not None:
            move(duration.total_seconds())

    def operations(self) -> list[dict[str, Any]]:
        """The run's operations, as OPERATION."""
        items = self.bench.app.operations.list()["items"]
        return [item for item in items if item["run_id"] == self._run.run_id]

    def doubt_stands(self) -> None:
        """Raises ChildFailed unless the run waits for a person since nothing of its write is to be seen."""
        run = self.bench.stored(self._run)
        if run.reason != ParkReason.OUTCOME_UNKNOWN:
            raise ChildFailed(f"The run is {run.state.value} ({run.reason}) while nothing of its write is to be seen.")

    @property
    def state(self) -> RunState:
        """The run's state as it is stored."""
        return self.bench.stored(self._run).state


async def as_usual(play: Play) -> None:
    """Nothing goes wrong."""
    await play.drive()


async def killed_after_acceptance(play: Play) -> None:
    """The receiver has accepted, and the worker dies before anything of that is on record. Another one goes on."""
    await play.drive(crash_at=ACCEPTED)
    await play.drive()


async def reply_lost(play: Play) -> None:
    """The receiver accepts, and its answer never arrives."""
    play.server.arm("drop-reply")
    await play.drive()


async def key_alone(play: Play) -> None:
    """The answer is lost, and the receiver cannot be asked: it is repeated, and the key alone makes that harmless."""
    play.server.blind()
    play.server.arm("drop-reply")
    await play.drive()


async def key_over(play: Play) -> None:
    """The same crash, and nobody goes on before the key's window is over: a repeat would be a second effect."""
    await play.drive(crash_at=ACCEPTED)
    play.advance(TOO_LATE)
    await play.drive()


async def late_arrival(play: Play) -> None:
    """The sender dies while its request is still under way. It lands after a look has found nothing, and a later look finds it."""
    play.server.queue()
    child = play.start()
    await asyncio.to_thread(play.server.wait_queued)
    child.kill()
    play.advance(TOO_LATE)
    await play.drive()
    play.doubt_stands()
    await asyncio.to_thread(play.server.release)
    await play.look_up()


async def taken_over(play: Play) -> None:
    """The sender dies while its request is still under way. Another one goes on, and then the first request lands as well."""
    play.server.queue()
    child = play.start()
    await asyncio.to_thread(play.server.wait_queued)
    child.kill()
    await play.drive()
    await asyncio.to_thread(play.server.release)


async def late_lookup(play: Play) -> None:
    """What was accepted does not show yet: the doubt stands visibly, and a later look finds it."""
    play.server.hide()
    await play.drive(crash_at=ACCEPTED)
    play.advance(TOO_LATE)
    await play.drive()
    play.doubt_stands()
    play.server.show()
    await play.look_up()


def play_all(drill: Drill, folder: Path) -> dict[str, Any]:
    """{connector, server, server_kind, cases: [{name, records, outcome, visible, attempts, verdict, reasons}], records, verdict}.

    `records`: the most that one payload has left at the receiver. A server that is not here: verdict not_run.
    """
    folder = Path(tempfile.mkdtemp(prefix=f"{drill.connector}-", dir=folder))
    said = {"connector": drill.connector, "server": drill.server, "server_kind": drill.server_kind}
    with ExitStack() as stack:
        try:
            server = stack.enter_context(closing(drill.start(folder)))
        except Refused as refused:
            if refused.code != "tool_missing":
                raise
            return said | {"cases": [], "records": None, "verdict": "not_run", "reasons": [refused.message]}
        stack.enter_context(environ_of({**PATIENT, **server.environ}))
        children = stack.enter_context(Children(target_of(drill.app)))
        cases = [_played(drill, case, server, children, folder) for case in drill.cases]
    wrong = [f"{case['name']}: {reason}" for case in cases for reason in case["reasons"]]
    most = max((case["records"] for case in cases), default=0)
    return said | {"cases": cases, "records": most, "verdict": "fail" if wrong else "pass", "reasons": wrong}


def _played(drill: Drill, case: Case, server: Served, children: Children, folder: Path) -> dict[str, Any]:
    place = Path(tempfile.mkdtemp(prefix=f"{case.name}-", dir=folder))
    payload = server.prepare(f"{drill.connector}-{case.name}")
    return asyncio.run(_case(drill, case, server, payload, Bench(drill.app, place, children=children)))


async def _case(drill: Drill, case: Case, server: Served, payload: Any, bench: Bench) -> dict[str, Any]:
    given = loaded(signature_of(drill.workflow.function, skip=1).inputs[0][1], payload, where="the drill's payload")
    async with bench:
        play = Play(bench, server, await bench.submit(drill.workflow, given, request_id=case.name))
        problem = None
        try:
            await case.play(play)
        except ChildFailed as failed:
            problem = str(failed)
        seen = Seen.of(play, server.records(payload))
    reasons = ([problem] if problem else []) + list(wrong(case, seen))
    return {"name": case.name, **asdict(seen), "verdict": "fail" if reasons else "pass", "reasons": reasons}


@dataclass(frozen=True, slots=True)
class Seen:
    """How a case ended. `records` by the receiver, all else by the ledger. `how`: the way in which each receipt came."""

    records: int
    outcome: Literal["succeeded", "failed", "unresolved"]
    visible: bool
    attempts: int
    how: tuple[str, ...]

    @staticmethod
    def of(play: Play, records: int) -> "Seen":
        """Read from the ledger."""
        operations = play.operations()
        closed = all(each["status"] in ("succeeded", "failed") for each in operations)
        ended = {RunState.COMPLETED: "succeeded", RunState.FAILED: "failed", RunState.CANCELLED: "failed"}
        outcome: Any = ended.get(play.state, "unresolved")
        parked = play.state is RunState.PARKED and any(
            each["status"] == "unknown" and each["owner"] and each["next_action"]["command"] for each in operations
        )
        attempts = sum(len(each["attempts"]) for each in operations)
        how = tuple(receipt["how"] for each in operations for receipt in each["receipts"])
        return Seen(records, outcome, closed if outcome == "succeeded" else parked, attempts, how)


def wrong(case: Case, seen: Seen) -> Iterator[str]:
    """What must not be: two records, a success without one, an end that was not to be, a doubt that nobody sees."""
    if seen.records > 1:
        yield f"the receiver holds {seen.records} records"
    if seen.outcome == "succeeded" and seen.records == 0:
        yield "said to have happened, and the receiver holds nothing"
    if seen.outcome != case.ends:
        yield f"it was to end {case.ends}, and ended {seen.outcome}"
    if not seen.visible:
        yield "a doubt stands that nobody is shown"
    if case.attempts is not None and seen.attempts != case.attempts:
        yield f"it was sent {seen.attempts} times instead of {case.attempts}"
