"""Story 1 against each kind of receiver, and with each fault: one record, or a doubt that everybody can see."""

from collections.abc import Iterator

import pytest

from counterfoil.examples.demo.options import FAULTS, DemoOptions
from tests.edges import stories
from tests.edges.stories import Stories, Told


@pytest.fixture(scope="module")
def told(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stories]:
    with stories.telling(request, tmp_path_factory) as telling:
        yield telling


def check(told: Stories, options: DemoOptions) -> Told:
    data = told.told(options)
    (story,) = data["stories"]
    assert data["as_expected"]
    assert story["receiver_kind"] == (options.receiver or "key")
    if options.crash_at != "none":
        stories.check_killed(story, story["crash"]["boundary"])
    stories.check_decided_once(story)
    stories.check_found_again(story)
    stories.check_record(data)
    return story


WITH_KEY = [DemoOptions(fault=fault) for fault in FAULTS if fault != "error-after-accept"]
WITH_LOOKUP = [
    DemoOptions(receiver="lookup", fault=fault) for fault in (None, "drop-reply", "error-after-accept", "refuse")
]
UNHURT = [
    DemoOptions(crash_at="none"),
    DemoOptions(crash_at="none", fault="drop-reply"),
    DemoOptions(crash_at="none", fault="refuse"),
]
DOUBTFUL = [
    (DemoOptions(receiver="none"), 1),
    (DemoOptions(receiver="none", fault="drop-reply"), 1),
    (DemoOptions(receiver="none", fault="refuse"), 0),  # the worker is killed before it can say that it was refused
    (DemoOptions(fault="error-after-accept"), 1),  # a saved error, and no lookup that could tell
]


@pytest.mark.parametrize("options", [*WITH_KEY, *WITH_LOOKUP], ids=stories.name_of)
def test_one_record(told: Stories, options: DemoOptions) -> None:
    story = check(told, options)
    stories.check_once(story)
    assert story["recovery"]["how"] == ("lookup" if options.receiver == "lookup" else "repeat")


@pytest.mark.parametrize("options", UNHURT, ids=stories.name_of)
def test_one_record_when_nobody_is_killed(told: Stories, options: DemoOptions) -> None:
    story = check(told, options)
    stories.check_once(story)
    assert story["crash"] is None
    assert story["recovery"]["how"] == ("repeat" if options.fault == "drop-reply" else "none")


@pytest.mark.parametrize(("options", "records"), DOUBTFUL, ids=[stories.name_of(options) for options, _ in DOUBTFUL])
def test_a_visible_doubt(told: Stories, options: DemoOptions, records: int) -> None:
    story = check(told, options)
    stories.check_doubt(story)
    assert story["receiver"]["records"] == records


@pytest.mark.parametrize("options", [DemoOptions(fault="refuse", crash_at="none")], ids=stories.name_of)
def test_a_refusal_is_final_for_its_operation(told: Stories, options: DemoOptions) -> None:
    story = check(told, options)
    refused, again = story["run"]["records"]["operations"]
    assert (refused["status"], refused["reason"]) == ("failed", "refused")
    assert again["operation_id"] != refused["operation_id"]
    assert again["approval"]["review_id"] != refused["approval"]["review_id"], "approved anew"
