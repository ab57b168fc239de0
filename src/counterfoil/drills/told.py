"""A drill that is told while it is played: each case as it ends, in the caller's own thread, then the report."""

import importlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any

from counterfoil.app.application import App
from counterfoil.drills.case import Planned
from counterfoil.drills.outside import Receivers, Sandboxes
from counterfoil.drills.plan import planned_of, wanted
from counterfoil.drills.receivers import own_receivers
from counterfoil.drills.report import Case, report_of
from counterfoil.drills.running import Ensemble
from counterfoil.drills.target import Target
from counterfoil.engine.clock import SystemClock
from counterfoil.engine.definitions import Workflow
from counterfoil.model.errors import Refused


@dataclass(slots=True)
class Telling:
    """One drill of one target. `report` is there when `cases` has come to its end."""

    target: Target
    only: str | None = None
    seed: int = 0
    players: int = 2
    receivers: Callable[[], Receivers] = Sandboxes
    report: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @staticmethod
    def of(
        target: str,
        *,
        only: str | None = None,
        seed: int = 0,
        players: int = 2,
        receiver: str | None = None,
        receiver_url: str | None = None,
    ) -> "Telling":
        """`target`: MODULE:WORKFLOW or MODULE:APP. Raises Refused: usage, app_not_found, drill_undeclared."""
        app, name = _found(target)
        own = {"--receiver": receiver, "--receiver-url": receiver_url}
        options = [word for option, value in own.items() if value is not None for word in (option, value)]
        found = Target.of(app, name, text=target, typed=(target, *options), seed=seed)
        if not options:
            return Telling(found, only, seed, players)
        # What comes into being at one receiver while a case plays must be of that case: one at a time.
        return Telling(found, only, seed, 1, own_receivers(app, adapter=receiver, url=receiver_url))

    def cases(self) -> Iterator[Case]:
        """Each CASE as it ends. Raises Refused: drill_not_clean, usage."""
        clock = SystemClock()
        began = clock.boot_us()
        with Ensemble(
            self.target, players=self.players, seed=self.seed, receivers=self.receivers, keep=True
        ) as ensemble:
            learned = ensemble.learn()
            planned = wanted(planned_of(learned), self.only)
            ended = _Ended()
            with ThreadPoolExecutor(1) as playing:
                played = playing.submit(ensemble.play, planned, learned, ended)
                played.add_done_callback(lambda _: ended.queue.put(None))
                while (case := ended.queue.get()) is not None:
                    yield case
            seconds = (clock.boot_us() - began) / 1_000_000
            report = report_of(self.target, learned, played.result(), seconds, ensemble.counted)
        self.report = report | {"kept": None if ensemble.kept is None else str(ensemble.kept)}


class _Ended:
    """What the players tell, for whoever waits."""

    def __init__(self) -> None:
        self.queue: SimpleQueue[Case | None] = SimpleQueue()

    def began(self, planned: Planned) -> None:
        """Nobody asks."""

    def ended(self, case: Case) -> None:
        """Put for the thread that reports."""
        self.queue.put(case)


def _found(target: str) -> tuple[App, str | None]:
    module, _, name = target.partition(":")
    try:
        loaded = importlib.import_module(module)
    except Exception as problem:
        raise Refused("app_not_found", target=target, problem=f"{type(problem).__name__}: {problem}") from problem
    named: Any = getattr(loaded, name, None)
    if isinstance(named, App):
        return named, None
    found: Any = getattr(named, "workflow", named)  # a durable agent is named by what its turns run
    if isinstance(found, Workflow):
        for each in vars(loaded).values():
            if isinstance(each, App) and found in each.registry.workflows.values():
                return each, str(found.name)  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
    raise Refused("app_not_found", target=target, problem=f"{module} has no workflow or application {name!r}")
