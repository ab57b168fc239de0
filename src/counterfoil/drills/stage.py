"""A stage: one case's folder, ledger, clock and receivers, and the children that live and die on it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from counterfoil.app.views.moments import rfc3339
from counterfoil.drills.case import NotApplied
from counterfoil.drills.outside import Outside
from counterfoil.drills.scenario import Scenario
from counterfoil.testing.case_ledger import CaseLedger, MakeLedger, files
from counterfoil.testing.children import Child, ChildFailed, Children
from counterfoil.testing.clock import SharedClock

LIFE = "counterfoil.drills.life:live"
REQUEST_ID = "drill"
LEDGER = "ledger"  # the folder of what belongs to the ledger
SECONDS = 90  # a child that lives longer has not come to rest


@dataclass(slots=True)
class Stage:
    """Where one case is played. Nothing of it is shared with another case but the processes of the receivers.

    `modules`: those that register workflows. `without`: the guard that is removed in every child. `request_id` is what the
    scenario's input is submitted under. `at_rest` is what the newest `live` said: {run_id, state, reason}.
    """

    folder: Path
    scenario: Scenario
    children: Children
    receivers: Mapping[str, Outside]
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    modules: tuple[str, ...] = ()
    seed: int = 0
    without: str | None = None
    request_id: str = REQUEST_ID
    make: MakeLedger = files
    started: list[Child] = field(default_factory=list[Child])
    ledger: CaseLedger = field(init=False)
    clock: SharedClock = field(init=False)

    def __post_init__(self) -> None:
        for name in (LEDGER, "state"):
            (self.folder / name).mkdir(parents=True)
        self.ledger = self.make(self.folder / LEDGER)
        self.clock = SharedClock(self.folder / "clock")
        for outside in self.receivers.values():
            outside.begin(self.folder / "clock")

    # ------------------------------------------------------------------ children

    def start(self, function: str = LIFE, *, environ: Mapping[str, str] | None = None, **arguments: Any) -> Child:
        """A child that does `function` (MODULE:NAME of (app, arguments, say)) with what every child is given.

        `arguments` come on top: crash_at, freeze_at, watch, input, request_id, db, and what the function itself takes.
        """
        given: dict[str, Any] = {
            "db": self.ledger.db, "clock": str(self.folder / "clock"), "passed": str(self.passed_file),
            "receivers": {name: outside.url for name, outside in self.receivers.items()},
            "credentials": [name for name, outside in self.receivers.items() if outside.asks_credential],
            "modules": list(self.modules),
            "workflow": self.scenario.workflow, "input": self.scenario.input, "request_id": self.request_id,
            "signals": dict(self.scenario.signals), "without": self.without,
        }  # fmt: skip
        log = self.folder / f"child-{len(self.started)}.log"
        more = {
            "COUNTERFOIL_STATE": str(self.folder / "state"),
            **self.ledger.environ,
            **self.environ,
            **(environ or {}),
        }
        child = self.children.start(function, given | arguments, log=log, environ=more, seconds=SECONDS)
        self.started.append(child)
        return child

    def lives(self, function: str = LIFE, **arguments: Any) -> Child:
        """A child that must come to its own end. Raises ChildFailed."""
        child = self.start(function, **arguments)
        child.wait()
        if child.exit_code != 0:
            raise ChildFailed(
                f"Child {child.pid} did not come to rest (status {child.status}).\n{child.wrote()[-6000:]}"
            )
        return child

    def dies(self, at: str, function: str = LIFE, **arguments: Any) -> dict[str, Any]:
        """A child that is killed at a boundary (NAME#HIT, before:NAME#HIT); the proof of it. Raises NotApplied."""
        child = self.start(function, crash_at=at, **arguments)
        child.wait()
        if child.exit_signal != 9:
            met = [name for names in self.passed(pid=child.pid) for name in names]
            said = f"status {child.status}; it passed {' '.join(met)}; {child.wrote()[-2000:]}"
            raise NotApplied(f"Child {child.pid} was not killed at {at}: {said}")
        return {"wait_status": child.status, "signal": "SIGKILL", "pid": child.pid, "boundary": at}

    def passed(self, when: str = "after", pid: int | None = None) -> list[list[str]]:
        """The boundaries that children have met (pid: that child), a list for each hit, in order."""
        lines = (
            [line.split() for line in self.passed_file.read_text().splitlines()] if self.passed_file.exists() else []
        )
        return [names for by, at, *names in lines if at == when and pid in (None, int(by))]

    @property
    def passed_file(self) -> Path:
        """To which children write each boundary as they meet it."""
        return self.folder / "passed"

    # ------------------------------------------------------------------ time and place

    def now(self) -> str:
        """The case's time, RFC 3339."""
        return rfc3339(self.clock.now_us()) or ""

    def advance(self, duration: timedelta) -> None:
        """Let time pass, for the children and for the receivers."""
        self.clock.advance(duration)

    def quiet(self) -> None:
        """No receiver disturbs any more."""
        for outside in self.receivers.values():
            outside.quiet()

    # ------------------------------------------------------------------ the end

    def close(self) -> None:
        """End what still lives of this case."""
        for child in self.started:
            if child.status is None:
                child.kill()
        self.clock.close()
