"""Each kind of budget in each scope: spent by a process that is killed, it refuses the next use in another one."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from signal import SIGKILL
from typing import Any

import pytest

from counterfoil import App
from counterfoil.app.verification import verify
from counterfoil.model.run import RunRecord
from counterfoil.testing.case_ledger import MakeLedger
from counterfoil.testing.children import Children
from tests.crash.spending import KINDS, LATER_S, SCOPES, SECRET, Spend, Spent, application, named

RAISED = {"attempts": "9", "elapsed": "900000", "tokens": "90000", "spend": "9", "calls": "9"}
USED: dict[str, Any] = {"attempts": 1, "elapsed": 100, "tokens": 2500, "spend": "0.08", "calls": 1}
DAY_S = 24 * 3600


@pytest.fixture(scope="module")
def spenders() -> Iterator[Children]:
    with Children("tests.crash.spending:app") as forked:
        yield forked


class Next:
    """The process after the one that was killed."""

    def __init__(self, folder: Path, kind: str, scope: str, made: App | None = None) -> None:
        self.folder, self.kind, self.scope = folder, kind, scope
        self.app: App = made or application(folder, kind, scope, later=LATER_S)

    def used(self) -> int:
        return Spent(self.folder).count()

    @asynccontextmanager
    async def working(self) -> AsyncIterator[None]:
        worker = self.app.new_worker()
        part = asyncio.create_task(worker.run())
        try:
            yield
        finally:
            worker.stop()
            await asyncio.wait_for(part, 20)
            assert not worker.problems, worker.problems

    async def submitted(self, request: str, workflow: str = "first", **changed: Any) -> str:
        wanted = Spend.model_validate({"times": 1} | changed)
        return (await self.app.submit(named(self.app, workflow), wanted, request_id=request)).run_id

    async def state(self, run_id: str, state: str) -> RunRecord:
        changed, loop, opened = asyncio.Event(), asyncio.get_running_loop(), self.app.open()
        listener = lambda _: loop.call_soon_threadsafe(changed.set)  # noqa: E731
        opened.listeners.add(listener)
        try:
            async with asyncio.timeout(20):
                while True:
                    changed.clear()
                    with opened.read() as reader:
                        run = reader.get(RunRecord, run_id)
                    if run is not None and run.state.value == state:
                        return run
                    await changed.wait()
        finally:
            opened.listeners.discard(listener)

    async def elsewhere(self) -> str:
        """A run that the budget covers with other figures, or not at all."""
        match self.scope:
            case "conversation":
                return await self.submitted("elsewhere", conversation="another")
            case "workflow":
                return await self.submitted("elsewhere", "second")
            case "operation":
                return await self.submitted("elsewhere", called="other")
            case _:
                pass
        return await self.submitted("elsewhere")

    async def lift(self, run_id: str, raises: dict[str, str] | None = None) -> None:
        kind = "calls:spender" if self.kind == "calls" else self.kind
        raises = raises or {kind: RAISED[self.kind]}
        if self.scope == "run":
            await self.app.runs.resume(run_id, by="ana", raises=raises)
        else:
            budgets = self.app.budgets.list()["items"]
            wanted = next(each for each in budgets if run_id in each["waiting"])
            await self.app.budgets.lift(wanted["budget_id"], by="oscar", secret=SECRET, reason="seen", raises=raises)


@pytest.mark.parametrize("scope", SCOPES)
@pytest.mark.parametrize("kind", KINDS)
def test_a_spent_budget_refuses_the_next_use_after_a_kill(
    kind: str,
    scope: str,
    tmp_path: Path,
    spenders: Children,
    ledgers: MakeLedger,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (tmp_path / "db").mkdir()
    ledger = ledgers(tmp_path / "db")
    environ = {"COUNTERFOIL_STATE": str(tmp_path / "state"), "SPENDING_DB": ledger.db, **ledger.environ}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    arguments = {"folder": str(tmp_path), "kind": kind, "scope": scope}
    child = spenders.start("tests.crash.spending:lives", arguments, log=tmp_path / "log", environ=environ)
    child.wait()
    assert child.exit_signal == SIGKILL, child.wrote()

    after = Next(tmp_path, kind, scope)
    assert after.used() == 1
    asyncio.run(_refused_and_raised(after))
    report = verify(after.app.open)
    assert report["broken"] == [] and report["differences"] == [], report
    after.app.close()


async def _refused_and_raised(after: Next) -> None:
    kind, scope = after.kind, after.scope
    (first,) = [item["run_id"] for item in after.app.runs.list()["items"]]
    async with after.working():
        parked = await after.state(first, "parked")
        shown = after.app.runs.show(first)
        assert (parked.reason, parked.owner) == (f"budget_{kind}", "lead" if scope == "run" else "ops")
        assert after.used() == 1
        (line,) = [each for each in shown["budgets"] if (each["kind"], each["scope"]) == (kind, scope)]
        least = LATER_S if (kind, scope) == ("elapsed", "run") else USED[kind]
        assert line["used"] >= least if kind == "elapsed" else line["used"] == least
        assert shown["next_action"]["who"] == {"kind": "operator", "name": parked.owner}
        assert " --raise " in shown["next_action"]["command"]

        second = None if scope == "run" else await after.submitted("second")
        if second is not None:
            assert (await after.state(second, "parked")).reason == f"budget_{kind}"
        assert after.used() == 1, "nothing of it is begun"

        if scope != "business_day":
            await after.state(await after.elsewhere(), "completed")
            assert after.used() == 2
        before = after.used()
        await after.lift(first)
        for each in (first, second):
            if each is not None:
                await after.state(each, "completed")
        # The first uses what it lacked; what failed there is tried again before that.
        assert after.used() == before + 1 + (kind == "attempts") + (second is not None)
        if scope == "business_day":
            await _next_day(after)


async def _next_day(after: Next) -> None:
    """Another day has figures of its own, and the limit of the code: a raise was for the day before."""
    after.app.clock.advance(DAY_S)  # type: ignore[attr-defined]
    before = after.used()
    await after.state(await after.submitted("next day"), "completed")
    assert after.used() == before + 1
    if after.kind != "attempts":  # nothing fails any more
        await after.state(await after.submitted("next day again"), "parked")
        assert after.used() == before + 1
