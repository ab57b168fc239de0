"""What a NATS server answers to a repeat, to other content and to what is not there, and what our contract makes of it."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from counterfoil.connectors import nats
from counterfoil.connectors.drilled.nats import STREAM, WINDOW, Stream
from counterfoil.model.contract import Meaning
from counterfoil.receivers.catalogue.plan import plan_of
from tests.receivers.attempt import Attempt


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stream]:
    started = Stream(tmp_path_factory.mktemp("nats"))
    yield started
    started.close()


def attempt(stream: Stream, letter: str) -> Attempt:
    """Of an operation of its own: a stream knows a key on all its subjects."""
    return Attempt(nats.publish_contract(WINDOW), f"op_{letter}{'0' * 22}", url=stream.environ["NATS_URL"])


def message(stream: Stream, number: str) -> nats.Message:
    return nats.Message(**stream.prepare(number))


def test_a_key_is_known_for_its_window_whatever_the_message_says(stream: Stream) -> None:
    asked = message(stream, "window")
    for given, replayed in ((asked, False), (asked, True), (asked.model_copy(update={"body": "eight"}), True)):
        one = attempt(stream, "a")
        assert one.made(nats.publish_message, given) is Meaning.APPLIED
        assert one.exchange is not None and one.exchange.replayed is replayed
    assert stream.records(asked.model_dump()) == 1
    stream.outlast()
    assert attempt(stream, "a").made(nats.publish_message, asked) is Meaning.APPLIED
    assert stream.records(asked.model_dump()) == 2, "this is what a repeat does when the window is over"


def test_a_message_is_found_by_our_id_and_compared_by_its_body(stream: Stream) -> None:
    asked = message(stream, "found")
    for operation in (attempt(stream, "b"), attempt(stream, "c")):
        assert operation.made(nats.publish_message, asked) is Meaning.APPLIED
    seen = nats.find_message(attempt(stream, "b").ask(), asked)
    (found,) = seen.records
    assert found.payload == asked and found.receipt.reference.startswith(f"{STREAM}/")
    other = nats.find_message(attempt(stream, "b").ask(), asked.model_copy(update={"body": "eight"}))
    assert [each.payload for each in other.records] == [asked]
    late = attempt(stream, "b").ask(datetime.now(UTC) + timedelta(days=1))
    assert not nats.find_message(late, asked).records, "only what is younger than the first attempt is walked"


def test_absence_proves_something_until_anything_was_taken_away(tmp_path: Path) -> None:
    own = Stream(tmp_path)
    try:
        asked = message(own, "absent")
        assert nats.find_message(attempt(own, "d").ask(), asked).complete
        own.take_away()
        assert nats.find_message(attempt(own, "d").ask(), asked).complete, "nothing was there to take"
        attempt(own, "e").made(nats.publish_message, asked)
        own.take_away()
        assert not nats.find_message(attempt(own, "d").ask(), asked).complete
    finally:
        own.close()


def test_a_walk_of_many_pages_misses_none(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nats, "PAGE", 2)
    asked = message(stream, "pages")
    for n in range(5):
        attempt(stream, str(n)).made(nats.publish_message, asked)
    attempt(stream, "d").made(nats.publish_message, asked)
    assert len(nats.find_message(attempt(stream, "d").ask(), asked).records) == 1


def test_what_was_not_stored_is_told_apart(stream: Stream) -> None:
    asked = message(stream, "elsewhere")
    unknown = asked.model_copy(update={"subject": "nobody.listens"})
    assert attempt(stream, "e").made(nats.publish_message, unknown) is Meaning.NOT_APPLIED
    wrong = asked.model_copy(update={"stream": "ANOTHER"})
    assert attempt(stream, "e").made(nats.publish_message, wrong) is Meaning.REFUSED
    assert stream.records(asked.model_dump()) == 0


def test_a_window_that_is_shorter_than_an_attempt_is_never_relied_on() -> None:
    rulings = {stage.moment: stage.ruling for stage in plan_of(nats.publish_contract(WINDOW))}
    assert rulings["lost reply"] == "look up" and rulings["not found"].startswith("ask a person")
