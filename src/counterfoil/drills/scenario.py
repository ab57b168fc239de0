"""A scenario: what a drill plays. Declared beside the workflow, or derived from its code where that is possible."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from counterfoil.testing.sandbox.contract import SandboxContract


class StandsIn(Protocol):
    """A process of your own in a receiver's place, where that speaks no HTTP: started once for a player, closed at its end."""

    def part(self, name: str) -> Any:
        """The next case's view of it (an Outside of outside.py). Its `environ`, if it has one, is for the children."""
        ...

    def close(self) -> object:
        """End it."""
        ...


Stand = str | SandboxContract | Callable[[], StandsIn]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """One input of one workflow, and what stands around it.

    `workflow`: its name. `input`: plain JSON. `other_input`: other content for the same request id, for the faults that
    need it. `name`: needed where a workflow has several scenarios. `sandboxes`: per receiver a kind of the sandbox, or the
    contract it keeps, or what starts a stand-in of yours. `environ`: more settings of the children. `signals`: per signal
    the payload that somebody sends when the run waits for it. `only`: the faults that are played with it (names or globs);
    None for all.
    """

    workflow: str
    input: Any
    other_input: Any = None
    name: str | None = None
    sandboxes: Mapping[str, Stand] = field(default_factory=dict[str, Stand])
    environ: Mapping[str, str] = field(default_factory=dict[str, str])
    signals: Mapping[str, Any] = field(default_factory=dict[str, Any])
    only: tuple[str, ...] | None = None
