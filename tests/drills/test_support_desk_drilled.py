"""The support desk under the drill: an agent's turn, a receiver that speaks no HTTP, and a tool that nobody declared."""

from typing import Any

import pytest

pytest.importorskip("aiosmtpd")
pytest.importorskip("mcp")

from counterfoil.drills.told import Telling

TARGET = "counterfoil.examples.support_desk.app:support"


def drilled(only: str) -> list[dict[str, Any]]:
    """The cases that fit."""
    telling = Telling.of(TARGET, only=only)
    list(telling.cases())
    found: list[dict[str, Any]] = telling.report["cases"]
    return found


def test_the_named_drills() -> None:
    cases = drilled("named")
    assert [(case["name"], case["reasons"]) for case in cases if case["verdict"] != "pass"] == []
    assert {case["name"] for case in cases} >= {"accepted-no-receipt", "refund-reply-lost", "code-deployed"}
    ends = {case["name"]: (case["outcome"], case["receiver"]["records"]) for case in cases}
    assert ends.pop("step-always-fails") == ("succeeded", 0), "without the order the model writes nothing"
    assert set(ends.values()) == {("succeeded", 2)}, "refund and e-mail"


def test_the_e_mail_is_counted_in_its_mailbox() -> None:
    cases = {case["fault"]: case for case in drilled("support/writes/operation.first_byte#2/*")}
    assert {"kill-before", "kill-after", "drop-reply", "error-after-accept", "refuse"} <= cases.keys()
    assert [(fault, case["reasons"]) for fault, case in cases.items() if case["verdict"] != "pass"] == []
    assert cases["drop-reply"]["receiver"]["records"] == 2 and cases["refuse"]["receiver"]["records"] == 1


def test_an_e_mail_that_the_backup_did_not_know_is_written_in_other_words_and_not_sent_twice() -> None:
    """The turn of before the restore asks the model anew. What lies in the mailbox is found by the number of both."""
    (case,) = drilled("support/writes/decision.accepted#2/restored-file")
    assert (case["verdict"], case["outcome"], case["receiver"]["records"]) == ("pass", "unresolved", 2), case["reasons"]
    assert case["next_action"]["command"].startswith("counterfoil operations resolve op-2")
    assert "something else under our number" in case["next_action"]["sentence"]


def test_in_a_copy_the_turn_is_its_originals() -> None:
    (case,) = drilled("support/writes/operation.in_flight#1/cloned")
    assert (case["verdict"], case["reasons"]) == ("pass", [])


@pytest.mark.parametrize(
    "only", ["operation.first_byte#2/hang", "step.ended#1/step-always-fails", "decision.accepted#2/code-changed"]
)
def test_what_is_played_on_an_agents_own_loop(only: str) -> None:
    """The answer of a server that speaks no HTTP never comes; a safe tool never works; other code meets a saved answer."""
    (case,) = drilled(f"support/writes/{only}")
    assert (case["verdict"], case["reasons"]) == ("pass", [])
    assert case["applied"]["proof"]


def test_a_note_that_was_interrupted_is_a_persons() -> None:
    cases = {case["fault"]: case for case in drilled("support/notes/operation.replied#3/*")}
    killed = cases["kill-after"]
    assert (killed["verdict"], killed["outcome"], killed["receiver"]["records"]) == ("pass", "unresolved", 3), killed
    assert killed["owner"] and killed["next_action"]["command"].startswith("counterfoil operations resolve")
