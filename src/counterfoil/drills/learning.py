"""What a clean run shows of a workflow: the boundaries it passes, in order, its operations, reviews and steps."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from counterfoil.drills.case import Planned
from counterfoil.drills.scenario import Scenario
from counterfoil.drills.seen import Seen
from counterfoil.engine.boundaries import BOUNDARIES
from counterfoil.engine.definitions import Operation, Registry
from counterfoil.model.contract import Contract

# Passed when time passes, not when the workflow goes on: another life may not meet that hit, or meet it elsewhere.
BY_TIME = frozenset({"lease.renewed"})
BY_TIME_LATER = frozenset({"worker.seen"})  # its first hit is the worker's registration
# Which entry of the journal tells whose boundary it is: the n-th hit is about the n-th entry.
TOLD_BY: Mapping[str, str] = {
    "proposal.made": "proposal",
    "operation.prepared": "prepared",
    "review.opened": "review",
    "operation.in_flight": "in_flight",
    "marker.flushed": "in_flight",
    "operation.first_byte": "in_flight",
    "operation.replied": "in_flight",
    "operation.classified": "classified",
    "step.ended": "step",
}
_KINDS = {boundary.name: boundary.kind for boundary in BOUNDARIES}


@dataclass(frozen=True, slots=True)
class Passed:
    """One boundary as the clean run passed it. `about` names the operation or step, where the journal tells."""

    name: str
    hit: int
    kind: str
    about: str | None = None

    @property
    def text(self) -> str:
        """`NAME#HIT`."""
        return f"{self.name}#{self.hit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LearnedOperation:
    """One operation that the run performed, with what its contract offers to who must ask again."""

    name: str
    receiver: str
    kind: str
    contract: Contract
    contract_digest: str
    reviewed: bool
    business_key: bool

    @property
    def key(self) -> bool:
        """Whether the receiver recognises a repeat by our key."""
        return self.contract.key is not None

    @property
    def lookup(self) -> bool:
        """Whether the receiver can be asked."""
        return self.contract.lookup is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class Learned:
    """`passed`: in the order of the clean run. `several`: the workflow has more than one scenario, so cases name theirs."""

    workflow: str
    version: int
    scenario: Scenario
    several: bool
    passed: tuple[Passed, ...]
    operations: tuple[LearnedOperation, ...]
    reviews: int
    steps: tuple[str, ...]
    seconds: float
    seen: Seen

    def at(self, *names: str) -> Iterator[Passed]:
        """The hits of these boundaries, in order."""
        return (passed for passed in self.passed if passed.name in names)

    def operation_of(self, passed: Passed) -> LearnedOperation | None:
        """The operation that a boundary is about."""
        return next((operation for operation in self.operations if operation.name == passed.about), None)

    def planned(self, passed: Passed, fault: str) -> Planned:
        """A case at a boundary."""
        operation = self.operation_of(passed)
        return Planned(
            workflow=self.workflow,
            scenario=self.scenario.name if self.several else None,
            boundary=passed.text,
            fault=fault,
            operation=None if operation is None else operation.name,
            step=passed.about if passed.name == "step.ended" else None,
        )


def passed_of(hits: Iterable[Iterable[str]], seen: Seen) -> tuple[Passed, ...]:
    """Count the hits of each boundary, and name what each is about."""
    told = {name: [entry["name"] for entry in seen.entries if entry["kind"] == kind] for name, kind in TOLD_BY.items()}
    counted: dict[str, int] = {}
    found: list[Passed] = []
    for name in (name for names in hits for name in names):
        n = counted[name] = counted.get(name, 0) + 1
        about = told.get(name, [])
        if name not in BY_TIME and (n == 1 or name not in BY_TIME_LATER):
            found.append(Passed(name, n, _KINDS[name], about[n - 1] if n <= len(about) else None))
    return tuple(found)


def operations_of(registry: Registry, seen: Seen) -> tuple[LearnedOperation, ...]:
    """The operations that were performed, each once, in the order in which they were prepared."""
    names = dict.fromkeys(operation["operation"] for operation in sorted(seen.operations, key=lambda o: o["number"]))
    shown = {operation["operation"]: operation for operation in seen.operations}
    return tuple(
        _learned(registry.operations[name], shown[name]["contract"]) for name in names if name in registry.operations
    )


def _learned(operation: Operation[object, object], contract: Mapping[str, str]) -> LearnedOperation:
    return LearnedOperation(
        name=operation.name,
        receiver=operation.receiver,
        kind=str(contract["kind"]),
        contract=operation.contract,
        contract_digest=operation.contract.digest(),
        reviewed=operation.review is not None,
        business_key=operation.business_key is not None,
    )
