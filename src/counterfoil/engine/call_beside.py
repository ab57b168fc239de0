"""A branch that somebody else's loop opens and awaits: the calls of an agent's tools, side by side or one by one."""

from collections.abc import Coroutine
from typing import Any

from counterfoil.engine.branches import Branch, Wait
from counterfoil.engine.execution import Execution
from counterfoil.engine.suspension import Suspended


class Beside:
    """The branches that are open beside a parent, which waits while there is one. Not reusable for another parent."""

    def __init__(self, execution: Execution, parent: Branch) -> None:
        self._execution = execution
        self._parent = parent
        self._open = 0

    async def run(self, prefix: str, body: Coroutine[Any, Any, Any], knows: frozenset[str]) -> Any:
        """The body's result, from a branch whose calls are numbered under this prefix. Raises what the body raises.

        `knows`: the interrupted calls of whose end whoever planned it had heard.
        """
        execution, parent = self._execution, self._parent
        if execution.closed:
            body.close()
            raise Suspended
        part = execution.open_branch(Branch(prefix, parent.last_at, scopes=list(parent.scopes), knows=knows), body)
        execution.parts.append(part)
        self._open += 1
        part.add_done_callback(self._ended)
        parent.waiting = Wait("branches", prefix, parent.last_at, None, None, "waits for its branches")
        execution.activity.set()
        result = await part
        if execution.closed:
            raise Suspended
        return result

    def _ended(self, part: object) -> None:
        # In the callback of the ending, as `gather` does it: no turn of the loop may see the parent wait for nobody.
        self._open -= 1
        if not self._open:
            self._parent.waiting = None
