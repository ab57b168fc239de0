"""What stands outside in a receiver's place: a case sees only its own part of it."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from counterfoil.drills.scenario import Scenario, Stand, StandsIn
from counterfoil.testing.sandbox.kinds import contract_of_kind
from counterfoil.testing.sandbox.process import SandboxProcess


class Outside(Protocol):
    """One receiver as one case sees it. The receiver's own account decides, never what was answered.

    `asks_credential`: it is sent the application's own credential. A stand-in has no use for one, and is given none.
    """

    @property
    def asks_credential(self) -> bool: ...

    @property
    def url(self) -> str:
        """Where the workflow's children send to."""
        ...

    def records(self) -> list[dict[str, Any]]:
        """What it holds of this case: {id, reference, key, payload_digest, at}, and the payload where it shows it."""
        ...

    def writes(self) -> list[dict[str, Any]]:
        """The write requests of this case that reached it: {key, reference, payload_digest, status, record_id, replayed}."""
        ...

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None) -> None:
        """Arm a fault for the next writes."""
        ...

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """A control command: wait, release, clock, forget-keys."""
        ...

    def quiet(self) -> None:
        """Disarm what is armed."""
        ...

    def begin(self, clock: Path) -> None:
        """A case begins, whose time is that of this file (testing/clock.py): nothing of the case before is left armed."""
        ...


@dataclass(frozen=True, slots=True)
class SandboxPart:
    """A sandbox that many cases share, one after another: `part` is the first piece of the path of this one."""

    process: SandboxProcess
    part: str
    lag_seconds: float = 0.0  # of its contract's lookups
    asks_credential: bool = False

    @property
    def url(self) -> str:
        """The sandbox's address below this case's part."""
        return f"{self.process.url}/{self.part}"

    def records(self) -> list[dict[str, Any]]:
        """From the sandbox's own file, which is flushed before it answers."""
        lines = self.process.records_file.read_text().splitlines()
        return [record for record in map(json.loads, lines) if self._mine(record)]

    def writes(self) -> list[dict[str, Any]]:
        """From its request log."""
        return [dict(request) for request in self.process.requests() if self._mine(request)]

    def fault(self, name: str, *, count: int = 1, seconds: float | None = None) -> None:
        """As the sandbox has it: drop-reply, error-after-accept, refuse, slow, hang, late, garbage, error-before-accept."""
        self.process.fault(name, count=count, seconds=seconds)

    def post(self, name: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """To its control address."""
        return self.process.post(name, dict(body or {}))

    def quiet(self) -> None:
        """What it still holds back goes on."""
        self.process.post("fault", {"fault": None})
        self.process.release()

    def begin(self, clock: Path) -> None:
        """It follows the case's clock, so that a window may end, and a lag be over, without anybody waiting."""
        self.quiet()
        self.process.post("clock", {"follow": str(clock)})
        self.process.post("lookup-lag", {"seconds": self.lag_seconds})

    def _mine(self, found: Mapping[str, Any]) -> bool:
        return str(found["path"]).startswith(f"/{self.part}/")


def more_of(receivers: Mapping[str, Outside]) -> dict[str, str]:
    """What the children must know to reach stand-ins that are more than a url."""
    found: dict[str, str] = {}
    for outside in receivers.values():
        found.update(getattr(outside, "environ", {}))
    return found


class Receivers(Protocol):
    """Gives a case its receivers. One for each player, from its start to its end.

    `counted` says whose account of the records the verdicts are taken from.
    """

    counted: str

    def prepared(self, scenario: Scenario) -> Scenario:
        """The scenario of the next case; `of` comes after it."""
        ...

    def of(self, scenario: Scenario, part: str) -> Mapping[str, Outside]:
        """By receiver; `part` is a word that no other case has."""
        ...

    def lacks(self, fault: str) -> str | None:
        """Why a fault cannot be played against them; None where it can."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class Sandboxes:
    """Sandboxes, started when a scenario first needs one, and shared by the cases of one player."""

    counted = "Records are those in the sandbox's own file, which is flushed before it answers."

    def __init__(self) -> None:
        self._started: dict[tuple[str, str], SandboxProcess] = {}
        self._own: dict[tuple[str, object], StandsIn] = {}

    def prepared(self, scenario: Scenario) -> Scenario:
        """A sandbox takes what it is given."""
        return scenario

    def of(self, scenario: Scenario, part: str) -> Mapping[str, Outside]:
        """One for each receiver of the scenario."""
        return {name: self._part(name, kind, part) for name, kind in scenario.sandboxes.items()}

    def lacks(self, fault: str) -> str | None:
        """Nothing."""
        return None

    def close(self) -> None:
        """End them."""
        for process in (*self._started.values(), *self._own.values()):
            process.close()

    def _part(self, receiver: str, kind: Stand, part: str) -> Outside:
        if callable(kind):
            if (receiver, kind) not in self._own:
                self._own[receiver, kind] = kind()
            return self._own[receiver, kind].part(part)
        contract = contract_of_kind(kind) if isinstance(kind, str) else kind
        place = (receiver, json.dumps(contract.to_json(), sort_keys=True))
        if place not in self._started:
            self._started[place] = SandboxProcess(contract)
        return SandboxPart(self._started[place], part, contract.lookup_lag_seconds)
