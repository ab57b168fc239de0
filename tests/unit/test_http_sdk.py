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


class Declined(Exception):
    """As an SDK raises it. `told`: status, body and headers."""

    def __init__(self, *told: Any) -> None:
        super().__init__("the SDK's own words")
        self.told = told


def answered(problem: Exception) -> Any:
    return problem.told if isinstance(problem, Declined) else None


def raising(problem: Exception, **parts: Any) -> tuple[AttemptOver, list[Exchange]]:
    sending, told = sdk(answered=answered, **parts)
    with pytest.raises(AttemptOver) as over, sending:
        raise problem
    assert over.value.__cause__ is problem
    return over.value, told


def test_an_exception_that_carries_an_answer_is_classified_by_the_contract() -> None:
    over, told = raising(Declined(402, {"error": "card"}, {"Idempotent-Replayed": "true"}))
    assert over.meaning is Meaning.REFUSED
    assert told == [over.exchange]
    assert (told[0].status, told[0].json(), told[0].replayed) == (402, {"error": "card"}, True)
    over, _ = raising(Declined(200, b'{"ok": false}', None))
    assert over.meaning is Meaning.REFUSED
    over, _ = raising(Declined(500, "down", None))
    assert over.meaning is Meaning.AMBIGUOUS


@pytest.mark.parametrize(
    "problem",
    [
        ConnectionError("reset"),
        Declined(0, None, None),
        Declined(None, None, None),
        Declined("402", None, None),
        Declined(402),
    ],
    ids=["another", "zero", "nothing", "text", "half"],
)
def test_what_is_no_answer_for_certain_is_a_doubt(problem: Exception) -> None:
    over, told = raising(problem)
    assert over.meaning is Meaning.AMBIGUOUS
    assert told == []
    assert over.exchange is not None
    assert (over.exchange.status, over.exchange.problem) == (None, f"{type(problem).__name__}: {problem}")


def test_an_answer_that_was_told_before_the_exception_counts() -> None:
    sending, _ = sdk(answered=answered)

    def tool() -> None:
        with sending as s:
            s.reply(503)
            raise Declined(402, None, None)

    with pytest.raises(AttemptOver) as over:
        tool()
    assert over.value.exchange is not None
    assert (over.value.exchange.status, over.value.meaning) == (503, Meaning.AMBIGUOUS)


def test_a_yes_that_the_sdk_could_not_read_is_no_success() -> None:
    over, told = raising(Declined(200, '{"id": "re_', None))
    assert (over.meaning, told[0].problem) == (Meaning.AMBIGUOUS, "unreadable: Declined")


def test_an_applied_answer_in_an_exception_is_an_answer_and_the_tool_hears_the_exception() -> None:
    sending, told = sdk(answered=answered)
    with pytest.raises(Declined), sending:
        raise Declined(201, {"id": "re_1"}, None)
    assert [exchange.status for exchange in told] == [201]


def test_a_credential_that_is_said_back_is_not_kept() -> None:
    secret = "sk_planted"
    body, head = {"message": f"no such key: {secret}"}, {"X-Key": secret}
    over, told = raising(Declined(402, body, head), secrets=(secret,))
    assert secret not in told[0].kept()
    over, _ = raising(ConnectionError(f"to /?key={secret}"), secrets=(secret,))
    assert over.exchange is not None
    assert secret not in over.exchange.kept()
