"""`counterfoil submit`."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated, Any

import typer

from counterfoil.cli.awaiting import awaited
from counterfoil.cli.command import Answer, Group
from counterfoil.cli.documents import read_json
from counterfoil.cli.engines import ENGINES, engine_named, temporal
from counterfoil.cli.invocation import Invocation
from counterfoil.cli.tables import next_action, sentence
from counterfoil.model.errors import Refused

if TYPE_CHECKING:
    from rich.console import Console

    from counterfoil.app import App
    from counterfoil.engine.definitions import Workflow

Submitting = Callable[["App", "Workflow[Any, Any]", Any, str], Awaitable[Any]]
POLL_US = 20_000  # how often another process's commits are looked for
FAILED, WAITS = 1, 5
LONGEST_ID = 500


def submitted(console: "Console", data: Any) -> None:
    """Which run it is, and where it stands."""
    earlier = " (this request id was known; nothing new was stored)" if data["admitted"] == "existing" else ""
    sentence(console, f"run-{data['number']} {data['run_id']} {data['state']}{earlier}")
    sentence(console, data["sentence"])
    next_action(console, data["next_action"])


def add_to(root: Group) -> None:
    """Register the command."""

    @root.command(
        "submit",
        data="{run_id, admitted: new|existing, state, number, reason, sentence, result, next_action:NEXT}",
        shows=submitted,
        also=(FAILED, WAITS),
    )
    def submit(
        invocation: Invocation,
        workflow: Annotated[
            str, typer.Argument(metavar="WORKFLOW", help="A name in the application, or MODULE:WORKFLOW.")
        ],
        file: Annotated[str, typer.Option("--input", metavar="FILE", help="JSON; - reads standard input.")],
        request_id: Annotated[
            str, typer.Option("--request-id", metavar="ID", help="The same id finds the same run, for ever.")
        ],
        wait: Annotated[
            float | None,
            typer.Option("--wait", metavar="S", min=0, max=1e9, help="Wait for the end, at most so many seconds."),
        ] = None,
        by: Annotated[
            str | None,
            typer.Option("--by", metavar="PERSON", help="Who submits it: this person then approves nothing of it."),
        ] = None,
        engine: Annotated[str | None, typer.Option("--engine", help=ENGINES)] = None,
    ) -> Any:
        """Submit a run. With --wait: exit 5 when it waits for a person, 1 when it failed, 0 when it goes on without us."""
        if not request_id.strip() or len(request_id) > LONGEST_ID:
            raise Refused("usage", problem=f"--request-id has 1 to {LONGEST_ID} characters")
        app, definition = workflow_named(invocation, workflow)
        plain = read_json(file, what="the input")
        if engine_named(engine) == "temporal":
            return awaited(_submit(app, definition, plain, request_id, wait, _by_temporal(by)))
        return awaited(_submit(app, definition, plain, request_id, wait, _by_us(by)))


def workflow_named(invocation: Invocation, text: str) -> "tuple[App, Workflow[Any, Any]]":
    """Found late, since it imports the engine."""
    from counterfoil.cli.targets import workflow_of

    return workflow_of(invocation, text)


def _by_us(by: str | None) -> Submitting:
    async def stored(app: "App", workflow: "Workflow[Any, Any]", value: Any, request_id: str) -> Any:
        return await app.submit(workflow, value, request_id=request_id, by=by)

    return stored


def _by_temporal(by: str | None) -> Submitting:
    connecting, submitting = temporal("connecting"), temporal("submitting")

    async def stored(app: "App", workflow: "Workflow[Any, Any]", value: Any, request_id: str) -> Any:
        client = await connecting.connected(app)
        queue = connecting.queue()
        return await submitting.submit(app, client, workflow, value, request_id=request_id, queue=queue, by=by)

    return stored


async def _submit(
    app: "App", workflow: "Workflow[Any, Any]", plain: Any, request_id: str, wait: float | None, submitting: Submitting
) -> Answer:
    from counterfoil.engine.definitions import loaded, signature_of

    name, adapter = signature_of(workflow.function, skip=1).inputs[0]
    value = loaded(adapter, plain, where=name)
    stored = await submitting(app, workflow, value, request_id)
    status = 0 if wait is None else await ended_within(app, stored.run_id, wait)
    run = app.runs.show(stored.run_id)
    names = ("number", "state", "reason", "sentence", "result", "next_action")
    data = {"run_id": stored.run_id, "admitted": stored.admitted} | {name: run[name] for name in names}
    return Answer(data, status)


async def ended_within(app: "App", run_id: str, seconds: float) -> int:
    """Until the run ends, waits for a person, or the time is over; whoever drives it is another process."""
    import asyncio

    from counterfoil.app.submitted import waits_for_person
    from counterfoil.model.run import RunRecord, RunState

    opened = app.open()
    until = opened.clock.now_us() + int(seconds * 1_000_000)
    never = asyncio.Event()
    while True:
        with opened.read() as reader:
            run = reader.get(RunRecord, run_id)
            assert run is not None, "a submitted run is stored"
            now = opened.clock.now_us()
            waits = waits_for_person(reader, run, now)
        if run.state.ended:
            return 0 if run.state is RunState.COMPLETED else FAILED
        if waits:
            return WAITS
        if now >= until:
            return 0
        await opened.clock.wait(never, min(until, now + POLL_US))
