"""Story 1 with a process killed at every boundary that it passes: always one record, and never a second decision."""

from collections.abc import Iterator

import pytest

from counterfoil.engine.boundaries import NAMES
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.model.errors import Refused
from tests.edges import stories
from tests.edges.stories import Stories

# In the order in which the story passes them.
PASSED = (
    "worker.seen",
    "marker.flushed",
    "run.submitted",
    "run.claimed",
    "step.ended",
    "decision.asked",
    "decision.accepted",
    "proposal.made",
    "operation.prepared",
    "review.opened",
    "run.waiting",
    "review.answered",
    "operation.in_flight",
    "operation.first_byte",
    "operation.replied",
    "operation.classified",
    "run.finished",
)
ELSEWHERE = {
    "installation.changed",  # `init`, before the story
    "lease.renewed",  # only a run that works for long
    "step.try_failed",  # story 3
    "call.drawn",  # only where a budget counts calls of a tool
    "operation.advanced",  # a doubt without an answer
    "operation.looked_up",  # a receiver that is asked
    "run.parked",  # story 2 and 3
    "run.resumed",
    "operation.resolved",
    "run.cancelled",
    "record.appended",
    "timer.opened",
    "timer.fired",
    "signal.stored",
    "signal.received",
    "child.started",
    "child.ended",
}
BEFORE = ("run.submitted", "decision.accepted", "review.answered", "operation.first_byte", "operation.classified")
KILLED = [DemoOptions(crash_at=name) for name in (*PASSED, *(f"before:{name}" for name in BEFORE))]
NOT_PASSED = DemoOptions(crash_at="timer.fired")


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    with stories.telling(request, tmp_path_factory) as telling:
        yield telling


def test_every_boundary_is_placed() -> None:
    assert {*PASSED, *ELSEWHERE} == NAMES
    assert not set(PASSED) & ELSEWHERE


@pytest.mark.parametrize("options", KILLED, ids=stories.name_of)
def test_killed_at(told: Stories, options: DemoOptions) -> None:
    data = told.told(options)
    (story,) = data["stories"]
    assert data["as_expected"]
    stories.check_killed(story, options.crash_at or "")
    stories.check_once(story)
    stories.check_decided_once(story)
    stories.check_found_again(story)
    stories.check_record(data)


@pytest.mark.parametrize("options", [NOT_PASSED], ids=stories.name_of)
def test_a_boundary_that_the_story_does_not_pass(told: Stories, options: DemoOptions) -> None:
    with pytest.raises(Refused) as refused:
        told.told(options)
    assert (refused.value.code, refused.value.exit_status) == ("unknown_boundary", 2)
