"""A vendor's SDK under the ledger: sent is always maybe."""

from typing import Any

import pytest

from counterfoil.model.contract import Meaning
from counterfoil.model.errors import Refused
from counterfoil.model.exchange import Exchange
from counterfoil.receivers.http import AttemptOver
from counterfoil.receivers.sending import Sending
from tests.unit.one_attempt import CONTRACT, PLAIN


def sdk(**parts: Any) -> tuple[Sending, list[Exchange]]:
    told: list[Exchange] = []
    return Sending(enter=lambda: "op_1-0", contract=CONTRACT, replied=told.append, **parts), told


def test_an_sdk_gets_our_key_and_its_answer_is_classified() -> None:
    sending, told = sdk()
    with sending as s:
        assert s.key == "op_1-0"
        s.reply(200, {"id": "re_1"}, headers={"Idempotent-Replayed": "true"})
        s.reply(402, "the first answer counts")
    assert sending.exchange is not None
    assert told == [sending.exchange]
    assert (sending.exchange.sent, sending.exchange.status, sending.exchange.replayed) == (True, 200, True)


@pytest.mark.parametrize(
    ("status", "body", "meaning"),
    [(402, None, Meaning.REFUSED), (200, b'{"ok":false}', Meaning.REFUSED), (503, "down", Meaning.AMBIGUOUS)],
)
def test_an_answer_that_is_not_applied_ends_the_attempt(status: int, body: Any, meaning: Meaning) -> None:
    sending, _ = sdk()
    with pytest.raises(AttemptOver) as over, sending as s:
        s.reply(status, body)
    assert over.value.meaning is meaning


@pytest.mark.parametrize("problem", [None, ConnectionError("reset by peer")])
def test_no_answer_is_a_doubt_and_never_less_than_maybe_sent(problem: Exception | None) -> None:
    sending, told = sdk()

    def tool() -> None:
        with sending:
            if problem is not None:
                raise problem

    with pytest.raises(AttemptOver) as over:
        tool()
    assert over.value.meaning is Meaning.AMBIGUOUS
    assert over.value.exchange is not None
    assert over.value.exchange.sent
    assert over.value.__cause__ is problem
    assert told == []


def test_an_exception_after_the_answer_does_not_change_what_it_said() -> None:
    sending, _ = sdk()

    def tool() -> None:
        with sending as s:
            s.reply(200, {"id": "re_1"})
            raise RuntimeError("in the tool")

    with pytest.raises(RuntimeError):
        tool()
    assert sending.exchange is not None
    assert sending.exchange.status == 200


def test_an_answer_can_be_told_with_nobody_listening() -> None:
    with Sending(enter=lambda: None, contract=PLAIN) as s:
        s.reply(200)
    assert s.exchange is not None
    assert (s.key, s.exchange.body) == (None, b"")


def test_what_ends_the_process_passes_through() -> None:
    sending, _ = sdk()
    with pytest.raises(KeyboardInterrupt), sending:
        raise KeyboardInterrupt


def test_one_attempt_is_entered_once_and_answered_inside() -> None:
    sending, _ = sdk()
    with pytest.raises(Refused, match=r"outside call\.sending"):
        sending.reply(200)
    with sending as s:
        s.reply(200, {})
    with pytest.raises(Refused, match="twice"), sending:
        pass


def test_a_gate_that_forbids_keeps_the_sdk_from_being_called() -> None:
    def forbid() -> str:
        raise AttemptOver("fence lost")

    sending = Sending(enter=forbid, contract=CONTRACT)
    with pytest.raises(AttemptOver, match="fence lost"), sending:
        raise AssertionError("the block must not run")
    assert sending.exchange is None
