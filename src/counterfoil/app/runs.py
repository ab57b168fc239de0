"""The noun `runs`: what a person asks of runs, and does to them."""

from collections.abc import Callable, Mapping
from typing import Any

from counterfoil.app.access.actor import Actor, named
from counterfoil.app.finding import known_id
from counterfoil.app.limits import limits_from
from counterfoil.app.registration import check_owners
from counterfoil.app.views.listing import listed
from counterfoil.app.views.run import run_summary, run_view
from counterfoil.app.views.shown import Shown
from counterfoil.engine.cancelling import AskToCancel, cancelling
from counterfoil.engine.definitions import dumped, loaded, signature_of
from counterfoil.engine.finish import Resume
from counterfoil.engine.opened import Opened
from counterfoil.engine.submission import refuse_turn, submission
from counterfoil.model.errors import Refused
from counterfoil.model.run import ParkReason, RunRecord, RunState
from counterfoil.store.port import Workflows

LONGEST_REQUEST_ID = 500
BUILT_IN = "ledger"  # performs what `app.ledger` is told; nobody submits it by hand


class Runs:
    """`app.runs`. A run is named by its id, a unique prefix of it, its number, or `run-NUMBER`."""

    def __init__(self, opened: Callable[[], Opened]) -> None:
        self._opened = opened

    def list(
        self,
        *,
        state: str | None = None,
        workflow: str | None = None,
        reason: str | None = None,
        workflows: Workflows = None,
        cursor: int | None = None,
        limit: int = 50,
    ) -> dict[str, Any]:
        """`{items: [RUN without records], next_cursor}`, newest first. Raises Refused(usage) for an unknown state or reason.

        `workflows`: those that may be seen, None for all.
        """
        _known(state, RunState, "state")
        _known(reason, ParkReason, "reason")
        opened = self._opened()
        with opened.read() as reader:
            page = reader.lists.runs(
                state=state, workflow=workflow, reason=reason, workflows=workflows, before=cursor, limit=limit
            )
            shown = Shown.of(opened, reader)
            return listed([run_summary(shown, run) for run in page.items], page.next_cursor)

    def show(self, run: str) -> dict[str, Any]:
        """RUN with its six records. Raises Refused(not_found, ambiguous_id)."""
        opened = self._opened()
        with opened.read() as reader:
            record = reader.get(RunRecord, known_id(reader, "run", run))
            assert record is not None, "the id was just found in this snapshot"
            return run_view(Shown.of(opened, reader), record)

    async def submit(
        self, workflow: str, input: Any, *, request_id: str, by: Actor | str | None = None
    ) -> dict[str, Any]:
        """Submit the newest version of a registered workflow. `input` is plain JSON.

        `{run_id, admitted: new|existing, number, state, reason, sentence, result, next_action}`. The same request id with
        the same content finds the run, for ever. Raises Refused: unknown_workflow, invalid_payload, request_conflict, usage.
        """
        if not request_id.strip() or len(request_id) > LONGEST_REQUEST_ID:
            raise Refused("usage", problem=f"a request id has 1 to {LONGEST_REQUEST_ID} characters")
        opened = self._opened()
        known = sorted({name for name, _ in opened.registry.workflows if name != BUILT_IN})
        if workflow not in known:
            raise Refused("unknown_workflow", name=workflow, known=", ".join(known) or "none")
        definition = opened.registry.newest(workflow)
        where, adapter = signature_of(definition.function, skip=1).inputs[0]
        plain = dumped(adapter, loaded(adapter, input, where=where), where=where)
        check_owners(opened.registry, opened)
        refuse_turn(definition, plain)
        verb = submission(opened.installation_id, definition, plain, request_id, opened.deadlines, by=named(by))
        admitted = await opened.write(verb)
        with opened.read() as reader:
            record = reader.get(RunRecord, verb.run_id)
            assert record is not None, "a submitted run is stored"
            summary = run_summary(Shown.of(opened, reader), record)
        names = ("run_id", "number", "state", "reason", "sentence", "result", "next_action")
        return {name: summary[name] for name in names} | {"admitted": admitted}

    async def cancel(self, run: str, *, by: Actor | str | None = None, reason: str = "") -> dict[str, Any]:
        """Withdraw the wish: nothing more is sent, by the runs that it has begun either. `{run_id, state, heading, next_action}`.

        Raises Refused(run_ended).
        """

        def verb(run_id: str, opened: Opened) -> AskToCancel:
            with opened.read() as reader:
                return cancelling(reader, run_id, named(by), reason)

        return await self._move(run, verb)

    async def resume(
        self,
        run: str,
        *,
        by: Actor | str | None = None,
        raises: Mapping[str, str | int] | None = None,
        reason: str = "",
    ) -> dict[str, Any]:
        """Move a parked run on. `raises`: new limits, `attempts`, `tokens` and `calls:NAME` counts, `elapsed` seconds,
        `spend` decimal USD. `reason`: why, which is recorded.

        `{run_id, state, heading, next_action}`. Raises Refused(not_resumable, budget_not_raised, usage).
        """
        limits = limits_from(raises)
        return await self._move(
            run, lambda run_id, opened: Resume(run_id, named(by), False, limits, opened.deadlines, reason)
        )

    async def retry(self, run: str, *, by: Actor | str | None = None) -> dict[str, Any]:
        """Take up a failed or step_failed run, finished operations kept. Raises Refused(not_resumable)."""
        return await self._move(run, lambda run_id, opened: Resume(run_id, named(by), True, {}, opened.deadlines))

    async def _move(self, run: str, verb: Callable[[str, Opened], Any]) -> dict[str, Any]:
        opened = self._opened()
        with opened.read() as reader:
            run_id = known_id(reader, "run", run)
        await opened.write(verb(run_id, opened))
        with opened.read() as reader:
            record = reader.get(RunRecord, run_id)
            assert record is not None, "a run is never deleted"
            summary = run_summary(Shown.of(opened, reader), record)
        return {name: summary[name] for name in ("run_id", "number", "state", "reason", "next_action")} | {
            "heading": record.heading
        }


def _known(value: str | None, kind: type[RunState] | type[ParkReason], what: str) -> None:
    if value is not None and value not in {member.value for member in kind}:
        raise Refused("usage", problem=f"there is no {what} {value!r}; there are {', '.join(kind)}")
