"""Work whose result is not recorded, before anything can go on: what it needs may be out of reach now, and is tried again."""

from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from counterfoil.engine.call_step import room_for_a_try, shares_here
from counterfoil.engine.definitions import Step
from counterfoil.engine.execution import Execution
from counterfoil.engine.failures import said
from counterfoil.engine.steps import CountTry
from counterfoil.model.errors import CounterfoilError

T = TypeVar("T")


async def patiently(execution: Execution, name: str, body: Callable[[], Awaitable[T]], *, final: Any = ()) -> T:
    """What the body gives. A failure counts as a failed try of this run, and the run goes on later, as a step does.

    `final`: exceptions that another try would not change; they are raised, as our own errors are.
    """
    position, spec = f"reach {name}", Step(name)
    while True:
        await room_for_a_try(execution, position, spec)
        try:
            return await body()
        except (CounterfoilError, *final):
            raise
        except Exception as problem:
            run, tries = execution.run, execution.journal.tries.get(position, 0)
            tried = {"n": tries + 1, "problem": said(problem)}
            verb = CountTry(
                run.run_id,
                run.fence,
                position,
                name,
                tried,
                execution.opened.deadlines,
                shares=shares_here(execution, name),
            )
            await execution.owned(execution.write(verb))
            execution.catch_up()
