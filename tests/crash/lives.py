"""What children of the crash tests do: whole lives of the story, with everybody who acts in it."""

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from signal import SIGKILL
from threading import get_ident
from typing import Any

import apsw

from counterfoil import App, Refused
from counterfoil.app.opening import Founding
from counterfoil.app.secrets import hashed
from counterfoil.app.tracing import Exporting
from counterfoil.engine.administration import NewPerson
from counterfoil.model.operation import OperationRecord
from counterfoil.model.run import RunRecord, RunState
from counterfoil.testing.bench_child import place, run_of, skip_time, working
from counterfoil.testing.powercut import PowerCut
from tests.crash import rude, story

SECRET = "story"
SALT = "c0"
FOUNDING = Founding(people=tuple(NewPerson(n, ("manager", "lead"), hashed(SECRET, SALT)) for n in ("ana", "oscar")))
ORDER = story.Order(number="n-1", amount=40)
# Somebody else, or this process before it was killed, was faster: the next look shows it.
OVERTAKEN = {"stale_version", "not_in_doubt", "attempt_live", "run_ended", "review_closed", "not_resumable"}
WORKFLOWS = {
    "everything": story.everything,
    "single": story.single,
    "single_lookup": story.single_lookup,
    "single_none": story.single_none,
    "freezing": story.freezing,
    "swallowing": rude.swallowing,
    "diverging": rude.diverging,
    "inventing": rude.inventing,
    "threaded": rude.threaded,
    "hasty": rude.hasty,
    "cancelling": rude.cancelling,
}
Say = Callable[[object], None]


def found(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Make the database, and nothing else."""
    place(app, arguments, say)
    app.open(FOUNDING)
    app.close()


def live(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Everything from making the database to the end of its runs, as often as it is begun."""
    place(app, arguments, say)
    app.open(FOUNDING)
    asyncio.run(lived(app, arguments))
    say({"hits": dict(app.boundaries.hits), "passed": sorted(app.boundaries.passed)})
    app.close()


def told(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, while a collector is told what happens."""
    place(app, arguments, say)
    app.open(FOUNDING)

    async def both() -> None:
        exporting, stop = Exporting(app, os.environ["TOLD_TO"]), asyncio.Event()
        await exporting.begin()
        telling = asyncio.create_task(exporting.run(stop))
        await lived(app, arguments)
        stop.set()
        await telling

    asyncio.run(both())
    app.close()


def worn(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, and killed after so many boundaries of any name."""
    left = arguments["boundaries"]

    def count(when: str, names: Sequence[str]) -> None:
        nonlocal left
        left -= when == "after"
        if left < 0:
            os.kill(os.getpid(), SIGKILL)

    app.boundaries.observers.append(count)
    live(app, arguments, say)


def counted(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, while SQLite counts its commits, and the interpreter what is connected to and which marker is replaced."""
    seen: Counter[str] = Counter()

    def connected(connection: apsw.Connection) -> None:
        connection.set_commit_hook(lambda: bool(seen.update(["commit"])))

    def audited(name: str, given: tuple[Any, ...]) -> None:
        if name == "socket.connect":
            seen["connect"] += 1
        elif name == "os.rename" and Path(os.fsdecode(given[1])).parent == Path(os.environ["COUNTERFOIL_STATE"]):
            seen["marker"] += 1

    apsw.connection_hooks.append(connected)
    sys.addaudithook(audited)
    live(app, arguments, say)
    say({"seen": dict(seen)})


def works(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A worker that lets nobody else act: until the run has ended, waits, or is parked."""
    place(app, arguments, say)
    app.open(FOUNDING)
    asyncio.run(worked(app, arguments, say))
    app.close()


async def worked(app: App, arguments: dict[str, Any], say: Say) -> None:
    workflow = WORKFLOWS[arguments["workflow"]]
    run_id = (await app.submit(workflow, ORDER, request_id="r-1")).run_id
    opened, changed, loop = app.open(), asyncio.Event(), asyncio.get_running_loop()
    opened.listeners.add(lambda _: loop.call_soon_threadsafe(changed.set))
    worker = app.new_worker()
    say(worker.worker_id)
    part = asyncio.create_task(worker.run())
    try:
        while not part.done():
            changed.clear()
            run = run_of(app, run_id)
            if run.state.ended or run.state is RunState.PARKED:
                say(run.state.value)
                return
            if not worker.driving and run.state is RunState.WAITING:
                say("waiting")
            if arguments.get("skip"):
                skip_time(app, worker, run_id)
            await opened.clock.wait(changed, opened.clock.now_us() + 20_000)
    finally:
        worker.stop()
        await asyncio.wait([part])


def finishes(app: App, arguments: dict[str, Any], say: Say) -> None:
    """A person says what became of the database, and lets sending go on."""
    place(app, arguments, say)
    app.open(FOUNDING)
    say({"before": app.restore.status()})
    finish = app.restore.finish(as_=arguments["finish_as"], by="ana", secret=SECRET, reason="I was there.")
    say({"after": asyncio.run(finish)})
    app.close()


def cut(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, on a disk whose power goes at a flush. What the writer has answered is written down beside it."""
    power = PowerCut(
        cut_at=arguments["cut_at"], survive=arguments["survive"], seed=arguments["cut_at"], kill=True, default=True
    )
    place(app, arguments, say)
    opened = app.open(FOUNDING)
    acknowledged = os.open(arguments["acknowledged"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def committed(run_ids: Iterable[str]) -> None:
        with opened.read() as reader:
            runs = [reader.get(RunRecord, run_id) for run_id in run_ids]
        for run in runs:
            if run is not None:
                os.write(acknowledged, f"{run.run_id} {run.sequence} {run.head.hex()}\n".encode())

    opened.listeners.add(committed)
    asyncio.run(lived(app, arguments))
    app.close()
    say({"flushes": power.flushes})


def crowd(app: App, arguments: dict[str, Any], say: Say) -> None:
    """Many submit at once while something is lacking, and again when it is back. Says what they were told each time."""
    power = PowerCut(default=True)
    place(app, arguments, say)
    app.open(FOUNDING)

    async def submitted() -> list[str]:
        orders = [app.submit(story.part, story.Order(number=str(n), amount=n), request_id=str(n)) for n in range(8)]
        answers = await asyncio.gather(*orders, return_exceptions=True)
        return [a.code if isinstance(a, Refused) else str(getattr(a, "admitted", repr(a))) for a in answers]

    async def body() -> None:
        app.boundaries.observers.append(met)
        say({"told": await submitted()})
        power.disk_full_after(None)
        say({"told": await submitted()})

    def met(when: str, names: Sequence[str]) -> None:
        if when == "before" and len(names) > 1:  # a commit of several verbs, the first time
            app.boundaries.observers.remove(met)
            fail(power, arguments["lacks"])

    asyncio.run(body())
    app.close()
    power.close()


def fail(power: PowerCut, lacks: str) -> None:
    """Let the commit that comes now fail."""
    if lacks == "room":
        power.disk_full_after(0)
    else:
        power.flush_fails_at(power.flushes + 1)


def starved(app: App, arguments: dict[str, Any], say: Say) -> None:
    """As `live`, while something is lacking at one boundary: {at, lacks: room, flush or marker}. It comes back once it was missed."""
    power = PowerCut(default=True)
    place(app, arguments, say)
    opened = app.open(FOUNDING)
    state, lacks = Path(os.environ["COUNTERFOIL_STATE"]), arguments["lacks"]
    blocked = state / "nothing"
    begun = False

    def met(when: str, names: Sequence[str]) -> None:
        nonlocal begun, blocked
        if begun or when != "before" or arguments["at"] not in names:
            return
        begun = True
        if lacks == "marker":
            # What the thread that commits, and then flushes the marker, writes beside it first.
            blocked = state / f"{opened.installation_id}.json.{os.getpid()}.{get_ident()}.new"
            blocked.mkdir()
        else:
            fail(power, lacks)

    def missed() -> None:
        say({"writes": len(story.records("key"))})
        power.disk_full_after(None)
        if blocked.exists():
            blocked.rmdir()

    app.boundaries.observers.append(met)
    asyncio.run(lived(app, arguments, missed))
    app.close()
    power.close()


async def lived(app: App, arguments: dict[str, Any], missed: Callable[[], None] | None = None) -> None:
    """`missed` is called once, when the worker has let go of a run."""
    workflow = WORKFLOWS[arguments.get("workflow") or "everything"]
    runs = [(await app.submit(workflow, ORDER, request_id="r-1")).run_id]
    if workflow is story.everything:
        runs.append((await app.submit(story.waiter, ORDER, request_id="w-1")).run_id)
    async with working(app) as here:
        worker = here.worker
        while True:
            here.look()
            if problems := [*worker.problems, *worker.outages]:
                if missed is None:
                    raise problems[0]
                worker.problems.clear()
                worker.outages.clear()
                missed()
            stored = [run_of(app, run_id) for run_id in runs]
            if all(run.state.ended for run in stored) or arguments.get("until") == stored[0].reason is not None:
                return
            for run in stored:
                await acted(app, run)
                skip_time(app, worker, run.run_id)
            await here.wait()


async def acted(app: App, run: RunRecord) -> None:
    """What people do about a run, each time they look."""
    try:
        if run.workflow == "waiter":
            if run.state is RunState.WAITING and not run.cancel_asked:
                await app.runs.cancel(run.run_id, by="ana", reason="not needed")
        elif run.state is RunState.WAITING:
            await answered(app, run)
        elif run.state is RunState.PARKED:
            await moved(app, run)
    except Refused as refused:
        if refused.code not in OVERTAKEN:
            raise


async def answered(app: App, run: RunRecord) -> None:
    for review in app.reviews.list(state="open")["items"]:
        await app.reviews.approve(review["review_id"], digest=review["digest"], by="ana", secret=SECRET)
    if run.reason == "signal":
        await app.signals.send(run.run_id, "go", {"word": "go"}, signal_id="go-1")


async def moved(app: App, run: RunRecord) -> None:
    """The next allowed action of each reason that this story knows; another reason is a failure of the test."""
    if run.reason == "step_failed":
        (story.folder() / "repaired").touch()
        await app.runs.retry(run.run_id, by="ana")
        return
    if run.reason == "poisoned":
        await app.runs.resume(run.run_id, by="ana")
        return
    assert run.reason == "outcome_unknown", (run.reason, run.sentence)
    with app.open().read() as reader:
        operations = reader.find(OperationRecord, "run_id", run.run_id)
    for operation in operations:
        if operation.status.value == "unknown":
            await resolved(app, operation)


async def resolved(app: App, operation: OperationRecord) -> None:
    """By the procedure: a person looks at the receiver itself."""
    seen = [r for r in story.records(operation.receiver) if r["reference"] == operation.operation_id]
    said = {"as_": "succeeded", "reference": seen[0]["id"]} if seen else {"as_": "send-again", "new_key": True}
    await app.operations.resolve(
        operation.operation_id, by="oscar", secret=SECRET, reason="I have asked the desk.", evidence=b"what they said",
        expect_version=operation.version, **said,
    )  # fmt: skip


def settings(folder: Path, receivers: dict[str, Any], case: str) -> dict[str, str]:
    """The environment of a child: its folders, and where this test's part of each receiver is."""
    environ = {"COUNTERFOIL_STATE": str(folder / "state"), "STORY_FOLDER": str(folder)}
    for name, process in receivers.items():
        environ[f"STORY_{name.upper()}"] = f"{process.url}/{case}"
        environ[f"STORY_{name.upper()}_RECORDS"] = str(process.records_file)
    return environ | {key: os.environ[key] for key in ("PYTHONPATH",) if key in os.environ}
