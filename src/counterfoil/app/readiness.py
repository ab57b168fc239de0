"""Whether this process may be given work: each condition by name, with what stands against it."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from counterfoil.engine.opened import Opened
from counterfoil.engine.verb import RunVerb
from counterfoil.model.errors import CounterfoilError
from counterfoil.store.marker import SENTENCES
from counterfoil.store.migrate import newest
from counterfoil.store.port import Read
from counterfoil.store.transaction import Transaction

LONGEST_S = 3.0


@dataclass(frozen=True, slots=True)
class StillThere(RunVerb):
    """Asks the writer for a sign of life. It writes nothing, so nothing is committed."""

    run_id: str = ""
    boundary: ClassVar[str] = "worker.seen"
    quiet: ClassVar[bool] = True

    def reads(self) -> tuple[Read, ...]:
        return ()

    def decide(self, tx: Transaction) -> bool:
        del tx
        return True


async def readiness(opened: Callable[[], Opened]) -> dict[str, Any]:
    """`{ready, checks: [{name, ok, problem}]}`: database, schema, marker, writer. Nothing is raised and nothing written."""
    checks = [_check(name, lambda of=of: of(opened())) for name, of in _READ]
    checks.append(await _writer(opened))
    return {"ready": all(check["ok"] for check in checks), "checks": checks}


def _check(name: str, problem_of: Callable[[], str | None]) -> dict[str, Any]:
    try:
        problem = problem_of()
    except CounterfoilError as error:
        problem = error.message
    except OSError as error:
        problem = error.strerror or type(error).__name__
    return {"name": name, "ok": problem is None, "problem": problem}


def _database(opened: Opened) -> str | None:
    opened.installation()
    return None


def _schema(opened: Opened) -> str | None:
    found = opened.schema_version()
    return None if found == newest() else f"The database has schema {found}; this code knows {newest()}."


def _marker(opened: Opened) -> str | None:
    """A restore that nobody has finished is no reason to send requests elsewhere: people finish it here."""
    if opened.marker is None:
        return None
    _, installation, difference = opened.compared()
    if installation.restore_state == "open":
        return None
    return None if difference is None else SENTENCES[difference]


async def _writer(opened: Callable[[], Opened]) -> dict[str, Any]:
    try:
        async with asyncio.timeout(LONGEST_S):
            await opened().write(StillThere())
        problem = None
    except CounterfoilError as error:
        problem = error.message
    except TimeoutError:
        problem = f"It gave no sign of life within {LONGEST_S:g} s."
    return {"name": "writer", "ok": problem is None, "problem": problem}


_READ: tuple[tuple[str, Callable[[Opened], str | None]], ...] = (
    ("database", _database), ("schema", _schema), ("marker", _marker),
)  # fmt: skip
