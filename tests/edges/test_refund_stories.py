"""`counterfoil demo refund`: three stops, a saved error, the same request twice, another amount for it."""

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from counterfoil.examples.demo.main import run_demo
from counterfoil.examples.demo.options import DemoOptions
from tests.edges import stories
from tests.edges.stories import Told


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Told]:
    with stories.apart(tmp_path_factory.mktemp("state")):
        kept = str(tmp_path_factory.mktemp("kept"))
        yield run_demo(DemoOptions(name="refund", keep=kept, console=Console(file=io.StringIO())))


def story_of(data: Told, name: str) -> Any:
    (story,) = [story for story in data["stories"] if story["name"] == name]
    stories.check_found_again(story)
    return story


def check_refunded_once(story: Told) -> None:
    operation, receiver = story["operation"], story["receiver"]
    assert (story["run"]["state"], operation["status"], story["outcome"]) == ("completed", "succeeded", "succeeded")
    assert receiver["records"] == 1
    assert [receipt["reference"] for receipt in operation["receipts"]] == receiver["record_ids"]
    stories.check_decided_once(story)


def test_all_ended_as_they_must(data: Told) -> None:
    assert data["as_expected"]
    stories.check_record(data)


def test_killed_before_the_request(data: Told) -> None:
    story = story_of(data, "refund-not-sent")
    stories.check_killed(story, "before:operation.first_byte")
    check_refunded_once(story)
    assert story["receiver"]["requests"] == 1
    assert story["recovery"]["how"] == "repeat"


def test_accepted_and_the_reply_lost(data: Told) -> None:
    story = story_of(data, "refund-reply-lost")
    stories.check_killed(story, "before:operation.classified")
    check_refunded_once(story)
    assert story["recovery"]["how"] == "lookup"
    (receipt,) = story["operation"]["receipts"]
    assert (receipt["how"], receipt["proves"]) == ("lookup", "current_state")
    assert story["receiver"]["requests"] == 1, "it was asked, not repeated"


def test_receipt_saved_and_the_same_request_again(data: Told) -> None:
    story = story_of(data, "refund-resubmitted")
    stories.check_killed(story, "operation.classified")
    check_refunded_once(story)
    (receipt,) = story["operation"]["receipts"]
    assert (receipt["how"], receipt["proves"]) == ("reply", "first_result")
    assert story["receiver"]["requests"] == 1


def test_a_saved_error_is_looked_up_and_never_repeated(data: Told) -> None:
    story = story_of(data, "refund-saved-500")
    check_refunded_once(story)
    (attempt,) = story["operation"]["attempts"]
    assert attempt["answer"]["status"] == 500
    assert story["receiver"]["requests"] == 1
    assert story["recovery"]["how"] == "lookup"
    assert Path(story["receiver"]["records_file"]).read_text().count("\n") == 1


def test_another_run_for_the_same_refund_finds_the_first_one(data: Told) -> None:
    first, again = story_of(data, "refund-resubmitted"), story_of(data, "refund-same-request")
    assert again["run"]["run_id"] != first["run"]["run_id"]
    assert again["operation"]["reused"]
    assert again["operation"]["attempts"] == []
    assert again["operation"]["receipts"] == first["operation"]["receipts"]
    assert (again["receiver"]["records"], again["receiver"]["requests"]) == (1, 0)


def test_another_amount_for_the_same_refund_waits_for_a_person(data: Told) -> None:
    story = story_of(data, "refund-other-amount")
    assert (story["run"]["state"], story["run"]["reason"]) == ("parked", "business_key_conflict")
    assert (story["operation"]["status"], story["operation"]["attempts"]) == ("prepared", [])
    assert (story["receiver"]["records"], story["receiver"]["requests"]) == (1, 0)
    assert story["run"]["owner"] == "payments-oncall"
    assert story["run"]["next_action"]["command"].startswith("counterfoil operations resolve ")
