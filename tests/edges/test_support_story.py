"""`counterfoil demo support`: killed where it hurts; one refund, one e-mail, one note, and every question to the model known."""

import io
from collections.abc import Iterator

import pytest
from rich.console import Console

from counterfoil.engine.boundaries import NAMES
from counterfoil.examples.demo.main import run_demo
from counterfoil.examples.demo.options import DemoOptions
from counterfoil.model.errors import Refused
from tests.crash.test_support_desk import LIVES
from tests.edges import stories
from tests.edges.stories import Stories, Told

pytest.importorskip("aiosmtpd")
pytest.importorskip("mcp")

# Every boundary that the turn passes, in the order of passing: what LIVES counts, and what other processes than its workers do.
PASSED = (
    "worker.seen",
    "run.submitted",
    "run.claimed",
    "record.appended",
    "decision.asked",
    "decision.accepted",
    "step.ended",
    "proposal.made",
    "operation.prepared",
    "review.opened",
    "run.waiting",
    "review.answered",
    "operation.in_flight",
    "marker.flushed",
    "operation.first_byte",
    "operation.replied",
    "operation.classified",
    "run.finished",
)
ELSEWHERE = {"worker.seen", "run.submitted", "review.answered"}
# One worker drives the turn until it is killed: the refund is its first send, the e-mail its second, the note its third.
LATER = ("decision.asked#2", "decision.accepted#3", "operation.replied#2", "operation.classified#3")
KILLED = [DemoOptions(name="support", crash_at=point) for point in (*PASSED, *LATER)]
LOST = DemoOptions(name="support", crash_at="before:decision.accepted#2")
NOTED = DemoOptions(name="support", crash_at="operation.replied#3")
NOBODY = DemoOptions(name="support", crash_at="none")


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    with stories.telling(request, tmp_path_factory) as telling:
        yield telling


def check_each_once(story: Told) -> None:
    """By the receivers' own records, and none of it twice."""
    receiver, others = story["receiver"], story["receiver"]["others"]
    assert {"payments": receiver["records"], **{name: held["records"] for name, held in others.items()}} == {
        "payments": 1,
        "mail": 1,
        "notes": 1,
    }
    found = {each["operation"]: each for each in story["run"]["records"]["operations"]}
    assert found["create_refund"]["receipts"][0]["reference"] == receiver["record_ids"][0]
    assert found["send_email"]["receipts"][0]["reference"] == others["mail"]["record_ids"][0]


def check_model(story: Told, *, lost: int = 0) -> None:
    """`requests` is what the server counted, `decisions` what the journal holds."""
    model = story["model"]
    assert (model["requests"], model["lost"]) == (model["decisions"] + lost, lost)


def test_every_boundary_of_the_turn_is_here() -> None:
    assert set(PASSED) - ELSEWHERE == {name for life in LIVES for name in life}
    assert set(PASSED) <= NAMES


@pytest.mark.parametrize("options", KILLED, ids=stories.name_of)
def test_killed_at(told: Stories, options: DemoOptions) -> None:
    data = told.told(options)
    (story,) = data["stories"]
    assert data["as_expected"] and story["outcome"] == "succeeded"
    stories.check_killed(story, options.crash_at or "")
    check_each_once(story)
    check_model(story)
    assert story["model"]["decisions"] == 6
    stories.check_found_again(story)
    stories.check_record(data)


@pytest.mark.parametrize("options", [LOST], ids=stories.name_of)
def test_an_answer_that_came_and_was_not_saved(told: Stories, options: DemoOptions) -> None:
    """It is asked for again, and the first one is counted as lost."""
    (story,) = told.told(options)["stories"]
    check_each_once(story)
    check_model(story, lost=1)


@pytest.mark.parametrize("options", [NOTED], ids=stories.name_of)
def test_killed_while_a_note_is_taken(told: Stories, options: DemoOptions) -> None:
    """Nobody declared what that means: the note is there, it is not taken again, and a person is asked."""
    data = told.told(options)
    (story,) = data["stories"]
    assert data["as_expected"]
    assert (story["outcome"], story["run"]["reason"]) == ("unresolved", "interrupted_tool")
    assert story["run"]["next_action"]["command"].startswith("counterfoil operations resolve op-3 ")
    check_each_once(story)
    check_model(story)


@pytest.mark.parametrize("options", [NOBODY], ids=stories.name_of)
def test_nobody_is_killed(told: Stories, options: DemoOptions) -> None:
    (story,) = told.told(options)["stories"]
    assert story["crash"] is None and story["receiver"]["requests"] == 1
    check_each_once(story)
    check_model(story)


@pytest.mark.parametrize("more", [{"fault": "hang"}, {"receiver": "none"}, {"serve": 0}, {"input": "."}])
def test_what_it_does_not_take(more: dict[str, object]) -> None:
    with pytest.raises(Refused) as refused:
        run_demo(DemoOptions(name="support", console=Console(file=io.StringIO()), **more))  # type: ignore[arg-type]
    assert refused.value.code == "usage"
