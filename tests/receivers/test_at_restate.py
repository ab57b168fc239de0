"""What a Restate server answers to a repeat, to other content and to a refusal, and what our contract makes of it."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from counterfoil.connectors import restate
from counterfoil.connectors.drilled.restate import Restate
from counterfoil.model.contract import Meaning, Seen
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.catalogue import entry
from counterfoil.receivers.http import LookupUnreachable
from counterfoil.rules.classify import classify, replayed
from tests.receivers.attempt import Attempt

CONTRACT = restate.call_contract()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Restate]:
    started = Restate(tmp_path_factory.mktemp("restate"))
    yield started
    started.close()


def told(server: Restate, key: str, body: Any, place: str = "orders/place") -> Exchange:
    reply = httpx2.post(f"{server.url}/{place}", json=body, headers={"idempotency-key": key})
    headers = dict(reply.headers)
    return Exchange("body", True, reply.status_code, headers, reply.content, replayed=replayed(CONTRACT, headers))


def found(server: Restate, letter: str) -> Seen[Any]:
    attempt = Attempt(CONTRACT, f"op_{letter}{'0' * 22}", server.url)
    asked = restate.Invocation(number=letter, service="orders", handler="place")
    return asyncio.run(restate.find_invocation(attempt.ask(), asked))


def key(letter: str) -> str:
    return Attempt(CONTRACT, f"op_{letter}{'0' * 22}").key


def test_a_repeat_is_told_the_first_result_whatever_it_asks(server: Restate) -> None:
    first, again, other = (told(server, key("a"), {"number": n}) for n in ("a", "a", "other"))
    assert [classify(CONTRACT, each) for each in (first, again, other)] == [Meaning.APPLIED] * 3
    assert (first.replayed, again.replayed, other.replayed) == (False, True, True)
    assert first.body == again.body == other.body
    assert server.records({"number": "a"}) == 1 and server.records({"number": "other"}) == 0
    facts = entry(restate.ENTRY).contract.key
    assert facts is not None and facts.other_body == "replays", "as the catalogue has it"


def test_an_invocation_is_found_by_its_key(server: Restate) -> None:
    assert not found(server, "b").records and found(server, "b").complete
    reply = told(server, key("b"), {"number": "b"})
    (record,) = found(server, "b").records
    assert record.receipt.reference == reply.headers[restate.ID] and record.receipt.result == {"placed": "b"}


def test_a_refusal_of_the_handler_is_kept_and_no_absence(server: Restate) -> None:
    refused = [told(server, key("c"), {"number": "c", "refuse": True}) for _ in range(2)]
    assert [classify(CONTRACT, each) for each in refused] == [Meaning.REFUSED] * 2
    assert [each.replayed for each in refused] == [False, True]
    assert not found(server, "c").records and not found(server, "c").complete


def test_what_no_handler_was_asked_is_refused(server: Restate) -> None:
    assert classify(CONTRACT, told(server, key("d"), {}, "nobody/place")) is Meaning.REFUSED


def test_a_server_that_is_away_proves_nothing(server: Restate) -> None:
    nowhere = Attempt(CONTRACT, url="http://127.0.0.1:9")
    with pytest.raises(LookupUnreachable):
        asyncio.run(
            restate.find_invocation(nowhere.ask(), restate.Invocation(number="e", service="orders", handler="place"))
        )
    assert classify(CONTRACT, Exchange("body", True, 503, {}, b"")) is Meaning.AMBIGUOUS
