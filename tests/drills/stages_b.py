"""One case of the faults of delivery, played on the parcel workflows: its evidence and its verdict."""

import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from counterfoil.drills.case import Applied, Fault, Planned
from counterfoil.drills.evidence import Evidence, Held
from counterfoil.drills.faults import FAULTS
from counterfoil.drills.learning import Learned, operations_of, passed_of
from counterfoil.drills.outside import SandboxPart
from counterfoil.drills.scenario import Scenario
from counterfoil.drills.seen import LOOK, Seen
from counterfoil.drills.stage import Stage
from counterfoil.drills.verdict import Judged, judge
from counterfoil.testing.children import Children
from counterfoil.testing.sandbox import SandboxContract
from counterfoil.testing.sandbox.process import SandboxProcess
from tests.drills import parcel

SANDBOXES: dict[str, SandboxContract] = {
    "key": SandboxContract(lookup=False),
    "lookup": SandboxContract(key_header=None, lookup_by=frozenset({"reference"})),
    "none": SandboxContract(key_header=None, lookup=False),
    "both": SandboxContract(lookup_by=frozenset({"reference"})),
}
PARCEL = {"number": "p-1", "weight": 7}


@dataclass(frozen=True, slots=True)
class Played:
    applied: Applied
    evidence: Evidence
    judged: Judged

    @property
    def operation(self) -> Any:
        return self.evidence.seen.operations[0]

    @property
    def run(self) -> Any:
        return self.evidence.run


@dataclass
class Theatre:
    """Many stages, one after another, on the same processes."""

    @classmethod
    @contextmanager
    def opened(cls, folder: Path) -> Iterator["Theatre"]:
        with ExitStack() as stack:
            children = stack.enter_context(Children("tests.drills.parcel:app"))
            sandboxes = {n: stack.enter_context(SandboxProcess(kept)) for n, kept in SANDBOXES.items()}
            yield cls(folder, children, sandboxes)

    folder: Path
    children: Children
    sandboxes: dict[str, SandboxProcess]
    count: int = 0
    learned: dict[str, Learned] = field(default_factory=dict)

    @contextmanager
    def stage(self, workflow: str, **more: Any) -> Iterator[Stage]:
        self.count += 1
        parts = {name: SandboxPart(process, f"case-{self.count}") for name, process in self.sandboxes.items()}
        scenario = Scenario(workflow=workflow, input=PARCEL, other_input=PARCEL | {"weight": 8})
        stage = Stage(
            self.folder / f"case-{self.count}", scenario, self.children, parts,
            environ={f"PARCEL_{name.upper()}": part.url for name, part in parts.items()}, **more,
        )  # fmt: skip
        try:
            yield stage
        finally:
            stage.close()

    def cases(self, workflow: str, fault: str) -> list[Planned]:
        """Where a fault applies to a workflow."""
        if workflow not in self.learned:
            self.learned[workflow] = self.learn(workflow)
        return list(FAULTS[fault].cases(self.learned[workflow]))

    def plays(self, text: str, **more: Any) -> Played:
        """WORKFLOW/BOUNDARY/FAULT[:VARIANT], as the plan has it."""
        workflow, _, fault = text.split("/")
        (planned,) = [each for each in self.cases(workflow, fault.partition(":")[0]) if each.case_id == text]
        return self.play(FAULTS[planned.fault], planned, **more)

    def learn(self, workflow: str) -> Learned:
        with self.stage(workflow) as stage:
            stage.lives()
            passed, seen = stage.passed(), look(stage)
            operations = operations_of(parcel.app.registry, seen)
            return Learned(
                workflow=workflow, version=1, scenario=stage.scenario, several=False, passed=passed_of(passed, seen),
                operations=operations, reviews=len(seen.reviews), steps=(), seconds=0, seen=seen,
            )  # fmt: skip

    def play(self, fault: Fault, planned: Planned, **more: Any) -> Played:
        with self.stage(planned.workflow, **more) as stage:
            applied = fault.play(stage, planned)
            json.dumps(dict(applied.proof))
            evidence = Evidence(
                planned=planned, applied=applied, seen=look(stage), request_id=stage.request_id,
                held={n: Held(outside.records(), outside.writes()) for n, outside in stage.receivers.items()},
                operations={o.name: o for o in operations_of(parcel.app.registry, look(stage))},
            )  # fmt: skip
            return Played(applied, evidence, judge(evidence))


def look(stage: Stage) -> Seen:
    to = stage.folder / "seen.json"
    stage.lives(LOOK, to=str(to))
    return Seen.of(json.loads(to.read_text()))
