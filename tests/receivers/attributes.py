"""One attribute of a contract, twice: as the receiver keeps it, and otherwise than the receiver does. What it holds decides."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from counterfoil.model.errors import Refused
from tests.traps.stage import Build, Stage, find

Story = Callable[[Stage], list[str]]
ENDED_BADLY = ("failed", "step_failed", "cancelled")


@dataclass(frozen=True, slots=True)
class Ended:
    """`state`: of the run, or the code of the refusal. `held`: the receiver's records. `incidents`: that stand open."""

    state: str
    held: int
    incidents: int = 0

    @property
    def well(self) -> bool:
        """It happened once, the run has ended, and nothing speaks against it."""
        return self == Ended("completed", 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """`entry`: of the catalogue. `right`: what its receiver promises besides, and the contract says.

    `wrong`: what the contract says instead; or `differs`: how the receiver breaks what the contract says. Then it ends as
    `ends` says. `receiver`: what the contract does not say of the receiver. `how`: more for the stage.
    """

    path: str
    entry: str
    right: Mapping[str, Any] = field(default_factory=dict[str, Any])
    wrong: Mapping[str, Any] = field(default_factory=dict[str, Any])
    differs: Mapping[str, Any] = field(default_factory=dict[str, Any])
    story: Story
    ends: Ended
    receiver: Mapping[str, Any] = field(default_factory=dict[str, Any])
    how: Mapping[str, Any] = field(default_factory=dict[str, Any])

    def played(self, stage: Build, *, wrong: bool) -> Ended:
        """How it ended, when everything has landed that is still to land."""
        kept = {**self.receiver, **(self.differs if wrong else {})}
        try:
            made = stage(self.entry, overrides=self.right, sandbox=kept, claims=self.wrong if wrong else {}, **self.how)
        except Refused as refused:
            return Ended(refused.code, 0)
        states = self.story(made)
        made.advance(3600)
        open_incidents = made.house.app.incidents.list(open_only=True)["items"]
        assert is_shown(made) or states[-1] in ("completed", *ENDED_BADLY), "a doubt that nobody is shown"
        return Ended(states[-1], len(made.held()), len(open_incidents))


def is_shown(made: Stage) -> bool:
    """Whether what stands open is somebody's, with a command that moves it or the time at which a worker does."""
    shown = [each for each in made.house.app.operations.list()["items"] if each["status"] != "succeeded"]
    moves = [each["next_action"]["command"] or each["next_action"]["deadline_at"] for each in shown]
    return all(moves) and all(each["owner"] for each in shown)


def asked_for(**parts: Any) -> dict[str, Any]:
    """For a stage that asks with `find`, or with what is given."""
    return {"asks": find, **parts}


UNASKED: Mapping[str, Any] = {"asks": None}

# ------------------------------------------------------------------ what is done


def usual(made: Stage) -> list[str]:
    """Nothing goes wrong."""
    return made.told()


def lost(made: Stage) -> list[str]:
    """It is accepted, and the answer never comes."""
    made.faults.arm("drop-reply")
    return made.told()


def lost_for(seconds: float) -> Story:
    """The same, and nobody goes on for so long. At first nobody can be asked, so what may be repeated is repeated."""

    def story(made: Stage) -> list[str]:
        in_doubt(made, "drop-reply")
        made.advance(seconds)
        return gone_on(made)

    return story


def in_doubt(made: Stage, fault: str) -> None:
    """The first try, at a receiver that cannot be asked."""
    made.receiver.blind({"on": True})
    made.faults.arm(fault)
    assert made.told(within=0) == ["waiting"]


def gone_on(made: Stage) -> list[str]:
    """Go on while it cannot be asked, and then while it can."""
    states = made.told(within=120)
    made.receiver.blind({"on": False})
    return states if states[-1] == "completed" else made.told()


def faulty(*names: str, **parts: Any) -> Story:
    """With these faults, one for each write."""

    def story(made: Stage) -> list[str]:
        for name in names:
            made.faults.arm(name, **parts)
        return made.told()

    return story
